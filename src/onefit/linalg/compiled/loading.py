"""Whether the compiled kernels are there, and which instructions they may use.

The environment variable ``ONEFIT_KERNEL`` set to "off" leaves them out, and set to "baseline", "AVX2" or "AVX-512"
allows instructions up to those.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ...errors import DataError

kernel: Any
try:
    kernel = import_module(".._kernel", __package__)
except ImportError:
    kernel = None  # there was no compiler

__all__ = ["SETTING", "SETTINGS", "instructions", "is_on", "is_there", "kernel", "switched", "use"]

SETTINGS = {name.lower(): name for name in ("on", "off", "baseline", "AVX2", "AVX-512")}
_ASKED = os.environ.get("ONEFIT_KERNEL", "on")
if _ASKED.lower() not in SETTINGS:
    raise DataError(f"The environment variable ONEFIT_KERNEL is {_ASKED!r}; it may be {', '.join(SETTINGS.values())}.")
SETTING = SETTINGS[_ASKED.lower()]
_state: dict[str, Any] = {"on": kernel is not None and SETTING != "off"}


def use(most: str) -> str:
    """Take instructions up to those named, or all; returns those taken. For tests and benchmarks, and when loaded."""
    _state["instructions"] = "" if kernel is None else kernel.use(most)
    return str(_state["instructions"])


use(SETTING)


def is_on() -> bool:
    """Whether the compiled kernels are used."""
    return bool(_state["on"])


def is_there() -> bool:
    """Whether the compiled kernels were built."""
    return kernel is not None


def instructions() -> str:
    """Which instructions the kernels use; empty if there are no kernels."""
    return str(_state["instructions"]) if is_on() else ""


@contextmanager
def switched(on: bool) -> Iterator[None]:
    """Use the kernels, or not, for a while: for tests and benchmarks."""
    before = _state["on"]
    _state["on"] = on and kernel is not None
    try:
        yield
    finally:
        _state["on"] = before
