"""A setting of the study: a law of data, and what is done with each data set."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from zlib import crc32

import numpy as np

import onefit

from .analyses import LEVEL, Analysis, Figures, Key
from .data import Source

__all__ = ["MANY", "Setting"]

MANY = 1000
"""Data sets of a setting, if nothing else is said: a coverage of 90% has a standard error of 0.95%."""


@dataclass(frozen=True)
class Setting:
    """A law of data and what is done with each data set."""

    name: str
    title: str
    data: Source
    analyses: tuple[Analysis, ...]
    seconds: float
    """Measured cost of a replication, for the time left that the progress bar shows."""
    replications: int = MANY
    block: int = 50
    level: float = LEVEL

    @property
    def digest(self) -> str:
        """Changes with the name, the data, the analyses, the level and the version of onefit.

        It cannot see code that changed within a version: `validation.work.take_up` computes a replication again.
        """
        known = repr((self.name, self.data, self.analyses, self.level, onefit.__version__))
        return hashlib.sha256(known.encode()).hexdigest()[:12]

    def rows(self) -> list[Key]:
        """The rows of the study that it gives."""
        return [key for analysis in self.analyses for key in analysis.rows()]

    def replicate(self, replication: int) -> Figures:
        """Figures of all rows on one data set; the seeds depend on the name and the replication alone."""
        seeds = np.random.SeedSequence((crc32(self.name.encode()), replication)).generate_state(2)
        simulation = self.data.draw(int(seeds[0]))
        return np.concatenate([analysis.run(simulation, int(seeds[1]), self.level) for analysis in self.analyses])
