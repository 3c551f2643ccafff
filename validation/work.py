"""Blocks of replications: computed in parallel, kept in a work directory, taken up again after an interruption."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import sklearn
from threadpoolctl import threadpool_limits

from onefit.errors import OneFitWarning

from .analyses import Figures
from .progress import Bar
from .settings import SETTINGS, Setting

__all__ = ["Block", "blocks_of", "collect", "compute"]


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
        folder = f"{self.setting}-{SETTINGS[self.setting].digest}"
        return work / folder / f"{self.start:05d}-{self.stop:05d}.npy"


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


def collect(
    settings: Sequence[Setting], replications: int | None, work: Path, jobs: int, bar: Bar
) -> dict[str, Figures]:
    """Figures (replications, rows, 4) of each setting; only blocks that are not in the work directory are computed."""
    plan = {s.name: blocks_of(s, replications or s.replications) for s in settings}
    wanted = [block for blocks in plan.values() for block in blocks]
    missing = [block for block in wanted if not block.path(work).exists()]
    bar.start(sum(block.cost for block in wanted), sum(block.cost for block in missing))
    run = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2 * n_jobs", batch_size=1)
    for block, seconds in run(joblib.delayed(compute)(block, work) for block in missing):
        bar.advance(block.setting, block.cost, seconds)
    bar.close()
    return {name: np.concatenate([np.load(block.path(work)) for block in blocks]) for name, blocks in plan.items()}
