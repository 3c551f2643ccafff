"""onefit."""
