"""The motorcycle data."""

from __future__ import annotations

from importlib import resources
from typing import Literal, overload

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from ..typing import FloatArray

__all__ = ["load_motorcycle"]

DESCR = """\
Motorcycle data
---------------
Head acceleration in a simulated motorcycle accident, used to test crash helmets.

Rows: 133, at 94 distinct times; the measurements are not from one experiment, and their spread changes with time.
Feature: times, milliseconds after impact.
Target: accel, acceleration of the head in g.

Source: Silverman, B. W. (1985). Some aspects of the spline smoothing approach to non-parametric regression curve
fitting. Journal of the Royal Statistical Society, Series B 47, 1-52. The measurements are those of Schmidt, Mattern and
Schueler (1981); R has them as mcycle in the package MASS.
"""


@overload
def load_motorcycle(*, return_X_y: Literal[False] = ..., as_frame: bool = ...) -> Bunch: ...
@overload
def load_motorcycle(*, return_X_y: Literal[True], as_frame: Literal[False] = ...) -> tuple[FloatArray, FloatArray]: ...
@overload
def load_motorcycle(*, return_X_y: Literal[True], as_frame: Literal[True]) -> tuple[pd.DataFrame, pd.Series[float]]: ...
def load_motorcycle(
    *, return_X_y: bool = False, as_frame: bool = False
) -> Bunch | tuple[FloatArray | pd.DataFrame, FloatArray | pd.Series[float]]:
    """Load Silverman's motorcycle data: 133 measurements of a head's acceleration after an impact.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` in place of a Bunch.
    as_frame : bool, default=False
        Whether data and target are a pandas DataFrame and Series rather than arrays.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` (133, 1), times in milliseconds; ``target`` (133,), acceleration in g; ``feature_names``,
        ``target_names``, ``DESCR``, and ``frame``, which is None unless `as_frame`.

    Examples
    --------
    >>> from onefit.datasets import load_motorcycle
    >>> X, y = load_motorcycle(return_X_y=True)
    >>> X.shape, float(y.min())
    ((133, 1), -134.0)
    >>> load_motorcycle(as_frame=True).frame.columns.tolist()
    ['times', 'accel']
    """
    with resources.files(__package__).joinpath("data", "motorcycle.csv").open(encoding="utf-8") as file:
        values = np.loadtxt(file, delimiter=",", skiprows=1)
    frame = pd.DataFrame(values, columns=["times", "accel"])
    data = frame[["times"]] if as_frame else values[:, :1].copy()
    target = frame["accel"] if as_frame else values[:, 1].copy()
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame if as_frame else None,
        feature_names=["times"],
        target_names=["accel"],
        DESCR=DESCR,
    )
