"""Linear algebra behind the routes.

`columns` brings every penalized model to one form, ``y = E a + N b`` with penalty ``lam ||a||^2``.
`reinsch` diagonalizes it once for a whole path (primal), `dual` does so when there are as many columns as
rows, and `standardized` when these are scaled anew in every training set. `stacked` fits one training set by QR: the
accurate way, for the few that the others cannot do; `elasticnet` is the same for the `lasso`.
`batched` solves many small systems and says which of them are too close to singular to trust.
"""
