"""A table such as people have: numbers, text, truth values and gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..checks import check_integer
from ..folds import entropy_of
from ..typing import Seed

__all__ = ["make_houses"]

DISTRICTS = {"centre": 90.0, "harbour": 60.0, "north": 0.0, "south": 10.0, "east": -15.0, "west": -5.0, "hills": 40.0}
"""By district, what it adds to the price."""

HEATING = {"gas": 0.0, "oil": -12.0, "heat pump": 20.0, "stove": -25.0}
GAPS = {"built": 0.12, "heating": 0.08, "plot": 0.05}
"""By column, the share of rows that lack it."""


def make_houses(n: int = 300, *, random_state: Seed = 0) -> pd.DataFrame:
    """Simulate a table of houses and their prices, with columns of text and with gaps.

    Parameters
    ----------
    n : int, default=300
        Number of houses, at least 10.
    random_state : int, numpy Generator or None, default=0

    Returns
    -------
    pandas.DataFrame
        ``area`` in square metres, ``rooms``, ``plot`` in square metres (5% missing), ``built``, the year (12% missing),
        ``district`` (seven, of unequal size), ``heating`` (four kinds, 8% missing), ``garden``, and ``price`` in
        thousands: linear in the other columns but for the year, whose effect is curved, with noise of 35.

    Examples
    --------
    >>> from onefit.datasets import make_houses
    >>> houses = make_houses()
    >>> houses.shape, int(houses.isna().any(axis=1).sum())
    ((300, 8), 62)
    """
    n = check_integer("n", n, 10)
    rng = np.random.default_rng(entropy_of(random_state))
    area = rng.gamma(9.0, 14.0, n).clip(30, 400).round()
    rooms = np.maximum(1, np.rint(area / 30 + rng.normal(0, 0.8, n))).astype(int)
    plot = (area * rng.gamma(4.0, 0.8, n)).round()
    built = rng.integers(1890, 2024, n).astype(float)
    district = rng.choice(list(DISTRICTS), n, p=[0.08, 0.05, 0.25, 0.22, 0.2, 0.17, 0.03])
    heating = rng.choice(list(HEATING), n, p=[0.55, 0.2, 0.15, 0.1])
    garden = rng.choice(["yes", "no"], n, p=[0.6, 0.4])
    worth = 1.9 * area + 6.0 * rooms + 0.06 * plot + 15.0 * (garden == "yes") + ((built - 1950) / 12) ** 2
    worth += pd.Series(district).map(DISTRICTS).to_numpy() + pd.Series(heating).map(HEATING).to_numpy()
    price = (worth + rng.normal(0, 35, n) + 60).round(1)
    columns = {"area": area, "rooms": rooms, "plot": plot, "built": built, "district": district, "heating": heating}
    houses = pd.DataFrame({**columns, "garden": garden, "price": price})
    for column, share in GAPS.items():
        houses.loc[rng.random(n) < share, column] = np.nan
    return houses
