"""Whether rows are predicted only to measure an error: what extrapolation costs is then seen, and needs no warning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["is_measured", "measured"]

_IS_MEASURED: ContextVar[bool] = ContextVar("onefit_extrapolation_is_measured", default=False)


def is_measured() -> bool:
    """Whether held-out rows are being predicted."""
    return _IS_MEASURED.get()


@contextmanager
def measured() -> Iterator[None]:
    """While held-out rows are predicted."""
    before = _IS_MEASURED.set(True)
    try:
        yield
    finally:
        _IS_MEASURED.reset(before)
