"""How often do the intervals of onefit cover? A study that anyone can rerun: ``python -m validation``."""
