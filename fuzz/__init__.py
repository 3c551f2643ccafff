"""Random problems of every kind against refits in ball arithmetic: ``python -m fuzz``."""
