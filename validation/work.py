"""Blocks of replications: computed in parallel, kept in a work directory, taken up again after an interruption."""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import sklearn
from threadpoolctl import threadpool_limits

from onefit.errors import OneFitWarning

from .analyses import Figures
from .progress import Bar
from .settings import SETTINGS, Setting

__all__ = ["Block", "blocks_of", "collect", "compute", "facts_of", "take_up", "there"]

FACTS = "facts.json"
SAME = 1e-9


@dataclass(frozen=True)
class Block:
    """Replications ``start`` to ``stop - 1`` of a setting."""

    setting: str
    start: int
    stop: int

    @property
    def cost(self) -> float:
        """Expected seconds."""
        return SETTINGS[self.setting].seconds * (self.stop - self.start)

    def path(self, work: Path) -> Path:
        """Where its figures are kept."""
        return _folder(SETTINGS[self.setting], work) / f"{self.start:05d}-{self.stop:05d}.npy"


def blocks_of(setting: Setting, replications: int) -> list[Block]:
    """All replications in blocks whose bounds do not depend on their number, but for the last."""
    starts = range(0, replications, setting.block)
    return [Block(setting.name, start, min(start + setting.block, replications)) for start in starts]


def figures_of(block: Block) -> Figures:
    """Figures (replications, rows, 4) of a block, by one thread."""
    setting = SETTINGS[block.setting]
    with (
        threadpool_limits(limits=1),
        sklearn.config_context(
            skip_parameter_validation=True, assume_finite=True
        ),  # a third of the time of small refits
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", OneFitWarning)
        return np.stack([setting.replicate(replication) for replication in range(block.start, block.stop)])


def compute(block: Block, work: Path) -> tuple[Block, float]:
    """Compute a block and keep it; the seconds that it took. A file is there whole or not at all."""
    began, path = time.perf_counter(), block.path(work)
    figures = figures_of(block)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        np.save(file, figures)
    os.replace(file.name, path)
    return block, time.perf_counter() - began


def there(setting: Setting, planned: int, work: Path) -> int:
    """Replications in the work directory, from the first on without a gap."""
    count = 0
    for block in blocks_of(setting, planned):
        if not block.path(work).exists():
            break
        count = block.stop
    return count


def collect(counts: Mapping[str, int], work: Path, jobs: int, bar: Bar) -> dict[str, Figures]:
    """Figures (replications, rows, 4) of each setting; only blocks that are not in the work directory are computed.

    Of every setting that has blocks there, the first replication of the first is computed again before.
    """
    plan = {name: blocks_of(SETTINGS[name], n) for name, n in counts.items()}
    wanted = [block for blocks in plan.values() for block in blocks]
    missing = [block for block in wanted if not block.path(work).exists()]
    for name, blocks in plan.items():
        take_up(SETTINGS[name], [block for block in blocks if block.path(work).exists()], work)
    bar.start(sum(block.cost for block in wanted), sum(block.cost for block in missing))
    run = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2 * n_jobs", batch_size=1)
    for name in {block.setting for block in missing}:
        record(SETTINGS[name], work)
    for block, seconds in run(joblib.delayed(compute)(block, work) for block in missing):
        bar.advance(block.setting, block.cost, seconds)
    bar.close()
    return {name: np.concatenate([np.load(block.path(work)) for block in blocks]) for name, blocks in plan.items()}


def take_up(setting: Setting, blocks: Sequence[Block], work: Path) -> None:
    """Stop if the code at hand does not give the first figures that are kept."""
    if not blocks:
        return
    first, path = blocks[0].start, blocks[0].path(work)
    again, kept = figures_of(Block(setting.name, first, first + 1))[0], np.load(path)[0]
    same = again.shape == kept.shape and np.allclose(again, kept, rtol=SAME, atol=0, equal_nan=True)
    if not same or facts_of(setting, work).get("confidence_level", setting.level) != setting.level:
        raise SystemExit(
            f"{path} was made by other code: replication {first} of {setting.name}, computed again, differs by "
            f"more than {SAME:g}. Delete {path.parent} if the change of the code is right, or give another --work."
        )
    if not facts_of(setting, work):
        record(setting, work, f"no versions were noted with the blocks; replication {first} is the same under these")


def facts_of(setting: Setting, work: Path) -> dict[str, Any]:
    """How the blocks in the work directory were made."""
    path = _folder(setting, work) / FACTS
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def record(setting: Setting, work: Path, note: str | None = None) -> None:
    """Note beside the blocks of a setting what they are, and the versions that make them."""
    versions = {
        "python": platform.python_version(),
        **{name: version(name) for name in ("onefit", "numpy", "scipy", "scikit-learn")},
    }
    known = facts_of(setting, work)
    noted = known.get("versions", [])
    facts = {
        "digest": setting.digest,
        "confidence_level": setting.level,
        "data": setting.data.facts(),
        "drawn_by": repr(setting.data),
        "analyses": [repr(analysis) for analysis in setting.analyses],
        "versions": noted if versions in noted else [*noted, versions],
        **{key: text for key, text in (("note", known.get("note", note)),) if text},
    }
    folder = _folder(setting, work)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _folder(setting: Setting, work: Path) -> Path:
    return work / f"{setting.name}-{setting.digest}"
