"""Texts for the terminal: on one line, in the words of options, on standard error."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Sequence

from ..errors import COMING_FROM

__all__ = ["as_options", "clean", "show_lines"]

OPTIONS = {
    "loss": "--loss",
    "scoring": "--scoring",
    "interval": "--interval",
    "n_blocks": "--folds",
    "n_folds": "--folds",
    "n_repeats": "--repeats",
    "max_fits": "--max-fits",
    "route": "--route",
}

PHRASES = {
    f" {COMING_FROM}": "",  # a table of Python's words
    "cv=onefit.TimeBlocks() (the error on a new stretch) or RollingOrigin (forecasts)": (
        "--order COLUMN (the error on a new stretch), with --ahead H that of forecasts"
    ),
    "force=True to overwrite it": "--force to overwrite it",
    "GridSearchCV over Ridge, with few splits, is found without": (
        "--lambda VALUE takes none, and --freeze (encode and scale once, on all rows) less, least with --tuned gcv if "
        "the target is of numbers"
    ),
    "in result.heldout": "in the report (--report)",
    'use "zero_one", or a function of (observed class, predicted class)': "use --loss zero_one, or leave it out",
}
"""What messages say of Python, and what helps here."""

POSITIVE = "write 1 for the one that is meant and 0 for the other in the table, and give --classes."
"""What the command line says where a scorer needs a positive class."""


def clean(text: object) -> str:
    """A text on one line without control characters, which a header could use to write over the screen."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def as_options(text: str) -> str:
    """A message of the library with its keywords as the options that they are here."""
    for said, meant in PHRASES.items():
        text = text.replace(said, meant)
    text = re.sub(r"\b(?:Time|Space)Blocks\((n_blocks=\d+)\)", r"\1", text)
    text = re.sub(r'transformers="freeze"', "--freeze", text)
    text = re.sub(r"\bsample_weight\b(?!=)", "--weights", text)
    text = re.sub(r", or stratified ones \(cv=Stratified(Group)?KFold[^;]*?\)\)", "", text)
    text = re.sub(r"say which is meant, as in scoring=make_scorer\(.*\)\.$", POSITIVE, text)
    return re.sub(
        r"""\b(\w+)=(?:"(\w+)"|'(\w+)'|(\d+)\b)""",
        lambda m: f"{OPTIONS[m[1]]} {m[2] or m[3] or m[4]}" if m[1] in OPTIONS else m[0],
        text,
    )


def show_lines(kind: str, lines: Sequence[str]) -> None:
    """Notes or warnings, a line each, on standard error."""
    with contextlib.suppress(OSError):  # the answer does not hang on them
        for line in lines:
            print(f"{kind}: {clean(line)}", file=sys.stderr, flush=True)
