"""A job from its arguments to its outcome: what is checked, the repeats, and the progress that people see."""
