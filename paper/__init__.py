"""The figures and tables of Cao and Stringer (2026), made again with onefit: ``python -m paper``."""
