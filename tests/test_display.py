import builtins
import sys

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.colors import to_hex

from onefit import display
from onefit.errors import OneFitError

NAMES = ["covariance", "bates", "paper", "mlr3", "naive", "corrected_t"]
ESTIMATES = [3003.0, np.nan, 2994.0, 2995.0, 3006.0, 3007.0]
LOWS = [2680.0, np.nan, np.nan, 2660.0, 2700.0, 2540.0]
HIGHS = [3370.0, np.nan, np.nan, 3330.0, 3310.0, 3470.0]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def draw(estimates=ESTIMATES, lows=LOWS, highs=HIGHS, *, chosen="covariance", ax=None):
    return display.plot_intervals(
        NAMES, estimates, lows, highs, chosen=chosen, confidence_level=0.95, loss="squared_error", ax=ax
    )


def bars(ax):
    """Bars by rule name: line artists with two ends on one row."""
    lines = [line for line in ax.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_ydata()) == 0]
    return {NAMES[int(line.get_ydata()[0])]: line for line in lines}


def points(ax):
    """Round points by rule name."""
    lines = [line for line in ax.lines if line.get_marker() == "o"]
    return {NAMES[int(line.get_ydata()[0])]: line for line in lines}


def texts(ax):
    """Texts by rule name."""
    return {NAMES[int(text.xy[1])]: text.get_text() for text in ax.texts}


def test_each_rule_has_a_row_from_top_to_bottom_with_its_numbers():
    ax = draw()
    assert [label.get_text() for label in ax.get_yticklabels()] == NAMES
    bottom, top = ax.get_ylim()
    assert bottom > top  # row 0 is drawn on top
    assert {name: tuple(line.get_xdata()) for name, line in bars(ax).items()} == {
        name: (low, high) for name, low, high in zip(NAMES, LOWS, HIGHS, strict=True) if np.isfinite(low)
    }
    assert {name: line.get_xdata()[0] for name, line in points(ax).items()} == {
        name: value for name, value in zip(NAMES, ESTIMATES, strict=True) if np.isfinite(value)
    }


@pytest.mark.parametrize("chosen", ["covariance", "naive"])
def test_chosen_rule_alone_is_bold_coloured_thick_and_carries_its_figures(chosen):
    ax = draw(chosen=chosen)
    bold = [label.get_text() for label in ax.get_yticklabels() if label.get_fontweight() == "bold"]
    assert bold == [chosen]
    drawn = bars(ax)
    others = [line for name, line in drawn.items() if name != chosen]
    assert all(drawn[chosen].get_linewidth() > line.get_linewidth() for line in others)
    assert to_hex(drawn[chosen].get_color()) not in {to_hex(line.get_color()) for line in others}
    row = NAMES.index(chosen)
    assert texts(ax)[chosen] == f"{ESTIMATES[row]:.0f} ({LOWS[row]:.0f} to {HIGHS[row]:.0f})"


def test_rule_without_an_estimate_is_listed_grey_as_not_available():
    ax = draw()
    assert texts(ax)["bates"] == "not available"
    assert "bates" not in points(ax)
    label = ax.get_yticklabels()[NAMES.index("bates")]
    assert to_hex(label.get_color()) == display.ABSENT.lower()


def test_rule_with_an_estimate_but_no_interval_is_an_open_point_without_a_bar():
    ax = draw()
    assert texts(ax)["paper"] == "no interval"
    assert "paper" not in bars(ax)
    assert to_hex(points(ax)["paper"].get_markerfacecolor()) == "#ffffff"


def test_nothing_available_still_lists_every_rule():
    ax = draw(*np.full((3, len(NAMES)), np.nan))
    assert texts(ax) == dict.fromkeys(NAMES, "not available")


def test_far_wider_interval_is_cut_with_its_ends_written_and_the_chosen_one_is_not():
    lows, highs = [1.4, 0.8, -20.0, 0.9, 2.3, 2.0], [9.5, 5.1, np.inf, 4.9, 3.9, 4.2]
    ax = draw([3.0, 2.9, 2.8, 2.9, 3.1, 3.1], lows, highs)
    left, right = ax.get_xlim()
    assert tuple(bars(ax)["paper"].get_xdata()) == (left, right)
    assert left > -20
    assert {text.get_text() for text in ax.texts if text.xy[1] == NAMES.index("paper")} == {"-20", "inf"}
    assert right > 9.5


def test_axis_and_title_name_the_loss_and_the_level():
    ax = draw()
    assert ax.get_xlabel() == "squared error"
    assert ax.get_title(loc="left") == "Generalization error, 95% intervals"


def test_given_axes_are_drawn_on_and_returned():
    _, ax = plt.subplots()
    assert draw(ax=ax) is ax
    assert plt.get_fignums() == [ax.figure.number]


def test_missing_matplotlib_names_the_extra_to_install(monkeypatch):
    real_import = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError("No module named 'matplotlib'")
        return real_import(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(OneFitError, match=r'pip install "onefit\[plot\]"'):
        draw()
