"""How long nested cross-validation takes: onefit beside three ways to write it by hand."""
