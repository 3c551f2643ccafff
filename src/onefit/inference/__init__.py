"""From held-out losses to intervals: pure functions of tables, which know no estimator and no route.

`heldout` has what routes compute, `fold_errors` the tables, `chain` how values of a path are paired, `intervals` a
function a rule (`covariancerule` the default one), `montecarlo` what the random partitions still add, `figures` what is
derived from an interval, and `tails` whether a few rows carry it.
"""
