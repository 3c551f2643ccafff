"""What is said of a job that the user stopped."""

from __future__ import annotations

__all__ = ["stopped_after", "stopped_in_bias"]


def stopped_after(count: int, of: str, has_bias: bool) -> str:
    """Note on a job that the user stopped after ``count`` repeats ``of`` so many."""
    these = "this one" if count == 1 else f"these {count}"
    bias = ", that of the bias too" if has_bias else ""
    return f"stopped by the user after {count} of {of} repeats; the figures are from {these}{bias}"


def stopped_in_bias(count: int, asked: int) -> str:
    """Note on a job that the user stopped when its repeats were complete."""
    source = f"these {count}" if count else "the repeats themselves"
    return f"stopped by the user after {count} of {asked} partitions for the bias, which is from {source}"
