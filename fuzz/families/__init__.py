"""Problems of learners that have no formula in balls: pipelines, penalties that select, families, neighbours, searches.

The reference is the very estimator, fitted anew to every training set with a solver that does not stop early, in ball
arithmetic or extended precision where there is one (`fuzz.families.precise`); how well it is known is measured by the
same refits of data that differ in the last bit.
"""
