"""Passes over blocks of rows, as the gram route makes them with very many rows, for few: plain and scaled columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from onefit.routes import collect, gramstream, rowpasses

__all__ = ["small_blocks"]

SETTINGS = {
    collect: {"BLOCK_CELLS": 1, "ROWS_OF_A_FOLD": 1},
    rowpasses: {"LEAST_BLOCKS": 2, "LEAST_ROWS_A_COLUMN": 1},
    gramstream: {"SAMPLE_ROWS": 1, "SAMPLE_WIDTHS": 2},
}
"""Blocks of a row or two of each fold, and coordinates from two rows a column."""


@contextmanager
def small_blocks(is_on: bool) -> Iterator[None]:
    """Let few rows be taken for many, or not."""
    with ExitStack() as stack:
        for module, values in SETTINGS.items() if is_on else ():
            stack.enter_context(patch.multiple(module, **values))
        yield
