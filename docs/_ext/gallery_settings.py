"""How the gallery orders the examples, and with which arguments it runs those that are scripts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

__all__ = ["Order", "arguments"]

SCRATCH = Path(tempfile.gettempdir()) / "onefit-gallery"
FIRST = (
    "diabetes_curve",
    "compare_models",
    "tuned_inside",
    "groups",
    "time_and_space",
    "heavy_tails",
    "many_outputs",
    "motorcycle",
)


class Order:
    """Place of an example: those in FIRST as they stand there, then the others by name."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> tuple[int, str]:
        """Key to sort by."""
        stem = Path(filename).stem
        return (FIRST.index(stem) if stem in FIRST else len(FIRST), stem)


def arguments(gallery_conf: Any, script_vars: dict[str, Any]) -> list[str]:
    """Pictures go to a scratch folder, and studies stay short."""
    source = Path(script_vars["src_file"])
    if "argparse" not in source.read_text(encoding="utf-8"):
        return []
    return ["--output", str(SCRATCH), *(["--quick"] if source.stem == "fpcr_selection" else [])]
