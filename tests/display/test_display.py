import builtins
import itertools
import sys

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.colors import to_hex

from onefit import display
from onefit.display.style import ABSENT, CHOSEN, SELECTED
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
    assert to_hex(label.get_color()) == ABSENT.lower()


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


VALUES = np.logspace(-2, 2, 9)
CURVE = {
    "estimate": 3.0 + 0.2 * np.log10(VALUES) ** 2,
    "low": 2.6 + 0.2 * np.log10(VALUES) ** 2,
    "high": 3.5 + 0.2 * np.log10(VALUES) ** 2,
    "difference": 0.2 * np.log10(VALUES) ** 2,
    "difference_low": 0.1 * np.log10(VALUES) ** 2 - 0.1,
    "difference_high": 0.3 * np.log10(VALUES) ** 2 + 0.1,
}
SELECTION = {"min": 1.0, "one_se": 10.0}


def draw_curve(values=VALUES, curve=CURVE, *, selected=SELECTION, **options):
    return display.plot_curve(
        values, **curve, param_name="alpha", selected=selected, loss="squared_error", confidence_level=0.9, **options
    )


def curve_line(ax):
    """The curve itself: the line in the curve's colour."""
    (line,) = [line for line in ax.lines if to_hex(line.get_color()) == CHOSEN.lower()]
    return line


def upright(ax):
    """Colours of the vertical lines by where they stand."""
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) == 0]
    return {float(line.get_xdata()[0]): to_hex(line.get_color()) for line in drawn}


def shaded(ax):
    """Left and right ends of the shaded stretches."""
    corners = [patch.get_patch_transform().transform(patch.get_path().vertices)[:, 0] for patch in ax.patches]
    return [(x.min(), x.max()) for x in corners]  # of a rectangle, or in matplotlib 3.8 a polygon


def band_reach(ax):
    """Horizontal extents of the separate pieces of the band, left to right."""
    pieces = [path.vertices[:, 0] for path in ax.collections[0].get_paths()]
    return [(piece.min(), piece.max()) for piece in pieces]


def second_axis(ax):
    """Axes that carry the effective degrees of freedom on top."""
    return [other for other in ax.figure.axes if other.get_xlabel() == "effective degrees of freedom"]


def wavy(mask):
    """The curve with NaN where the mask is True."""
    return {name: np.where(mask, np.nan, array) for name, array in CURVE.items()}


def test_curve_has_two_axes_on_one_horizontal_axis_with_estimate_above_and_difference_below():
    axes = draw_curve()
    assert axes.shape == (2,)
    upper, lower = axes
    assert upper.get_xlim() == lower.get_xlim()
    assert upper.get_shared_x_axes().joined(upper, lower)
    for ax, name in ((upper, "estimate"), (lower, "difference")):
        np.testing.assert_array_equal(curve_line(ax).get_xdata(), VALUES)
        np.testing.assert_array_equal(curve_line(ax).get_ydata(), CURVE[name])
    assert (upper.get_ylabel(), lower.get_xlabel()) == ("squared error", "alpha")
    assert upper.get_title(loc="left") == "Generalization error, 90% intervals"
    assert 0.0 in [line.get_ydata()[0] for line in lower.lines if np.ptp(line.get_ydata()) == 0]


def test_bands_run_between_the_ends_of_the_intervals():
    for ax, prefix in zip(draw_curve(), ("", "difference_"), strict=True):
        heights = ax.collections[0].get_paths()[0].vertices[:, 1]
        assert heights.min() == CURVE[f"{prefix}low"].min()
        assert heights.max() == CURVE[f"{prefix}high"].max()


def test_selected_values_are_lines_through_both_axes_with_a_colour_and_style_each():
    upper, lower = draw_curve(selected={"min": 1.0, "gcv": 3.0, "one_se": 10.0})
    assert set(upright(upper)) == set(upright(lower)) == {1.0, 3.0, 10.0}
    assert upright(upper) == upright(lower)
    assert len(set(upright(upper).values())) == 3
    assert len({str(style) for _, style in SELECTED}) == len({color for color, _ in SELECTED}) == len(SELECTED)


def test_equal_selections_share_a_line_and_a_label_and_missing_ones_have_none():
    upper, _ = draw_curve(selected={"min": 1.0, "one_se": 10.0, "gcv": 1.0 + 1e-12, "reml": np.nan, "loo": None})
    assert [text.get_text() for text in upper.texts] == ["min, gcv: 1", "one_se: 10"]
    assert set(upright(upper)) == {1.0, 10.0}


@pytest.mark.parametrize("middle", [0.0105, 1.0, 95.0])
def test_labels_of_close_values_overlap_neither_each_other_nor_the_edge(middle):
    close = {rule: middle * 1.04**step for step, rule in enumerate(["min", "one_se", "loo", "gcv", "reml"])}
    upper, _ = draw_curve(selected=close, edf=np.linspace(9, 1, 9))
    upper.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in upper.texts]
    assert len(boxes) == 5
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert all(upper.bbox.x0 <= box.x0 and box.x1 <= upper.bbox.x1 for box in boxes)
    bottom_of_text = upper.transData.inverted().transform((0, min(box.y0 for box in boxes)))[1]
    assert bottom_of_text > CURVE["high"].max()


def test_nan_leaves_a_gap_in_line_and_band_and_a_lone_value_keeps_a_point_and_a_bar():
    mask = np.isin(np.arange(9), [2, 4, 8])
    upper, _ = draw_curve(curve=wavy(mask))
    line = curve_line(upper)
    np.testing.assert_array_equal(np.isnan(line.get_ydata()), mask)
    pieces = band_reach(upper)
    assert (VALUES[0], VALUES[1]) in pieces
    assert (VALUES[5], VALUES[7]) in pieces
    assert not any(left < VALUES[gap] < right for left, right in pieces for gap in (2, 4, 8))
    (bar,) = upper.collections[1].get_segments()
    np.testing.assert_array_equal(bar, [[VALUES[3], CURVE["low"][3]], [VALUES[3], CURVE["high"][3]]])
    assert upper.get_xlim()[1] > VALUES[8]  # the value without an error keeps its place


def test_nothing_but_nan_can_be_drawn():
    upper, lower = draw_curve(curve=wavy(np.ones(9, dtype=bool)), selected={"min": np.nan})
    assert np.isfinite([upper.get_ylim(), lower.get_ylim()]).all()


def test_infinite_end_of_an_interval_fills_the_band_to_the_edge_of_the_plot():
    high = np.where(np.arange(9) == 0, np.inf, CURVE["high"])
    upper, _ = draw_curve(curve=CURVE | {"high": high})
    assert np.isfinite(upper.get_ylim()).all()
    assert band_reach(upper) == [(VALUES[0], VALUES[-1])]


@pytest.mark.parametrize(
    ("values", "log_axis", "scale"),
    [
        (VALUES, True, "log"),
        (VALUES, False, "linear"),
        (np.r_[0.0, VALUES[1:]], True, "symlog"),
        (np.r_[0.0, VALUES[1:]], False, "linear"),
    ],
)
def test_scale_is_log_where_it_can_be_and_makes_room_for_zero(values, log_axis, scale):
    upper, lower = draw_curve(values, log_axis=log_axis, selected={"gcv": values[0]})
    assert (upper.get_xscale(), lower.get_xscale()) == (scale, scale)
    upper.figure.canvas.draw()
    places = lower.transData.transform([(value, 0.0) for value in values])[:, 0]
    width = lower.bbox.width
    assert lower.bbox.x0 < places[0] < lower.bbox.x0 + 0.1 * width
    if log_axis:
        assert np.diff(places).min() > 0.03 * width
    ticks = {label.get_text() for label in lower.get_xticklabels()}
    if values[0] == 0:
        assert "0" in ticks
    if scale == "log":
        assert {"0.01", "1", "100"} <= ticks


def test_values_in_falling_order_draw_the_same_curve():
    _, lower = draw_curve(VALUES[::-1], {name: array[::-1] for name, array in CURVE.items()})
    np.testing.assert_array_equal(curve_line(lower).get_xdata(), VALUES)
    np.testing.assert_array_equal(curve_line(lower).get_ydata(), CURVE["difference"])


def test_indistinguishable_values_are_shaded_halfway_to_their_neighbours():
    upper, lower = draw_curve(indistinguishable=VALUES[[3, 4, 7]])
    assert shaded(upper) == []
    halfway = np.sqrt(VALUES[1:] * VALUES[:-1])
    np.testing.assert_allclose(shaded(lower), [(halfway[2], halfway[4]), (halfway[6], halfway[7])])
    assert "shaded" in lower.get_title(loc="left")
    assert "shaded" not in draw_curve(indistinguishable=[])[1].get_title(loc="left")


def test_second_axis_shows_round_degrees_of_freedom_where_they_are_reached():
    edf = np.linspace(10.5, 1.5, 9)
    upper, _ = draw_curve(edf=edf)
    (top,) = second_axis(upper)
    upper.figure.canvas.draw()
    labels = [float(label.get_text()) for label in top.get_xticklabels()]
    assert len(labels) >= 3
    assert labels == [float(round(label)) for label in labels]
    tick_pixels = top.transData.transform([(tick, 0.0) for tick in top.get_xticks()])[:, 0]
    tick_values = upper.transData.inverted().transform([(pixel, 0.0) for pixel in tick_pixels])[:, 0]
    np.testing.assert_allclose(np.interp(np.log10(tick_values), np.log10(VALUES), edf), labels, atol=1e-6)
    upper.set_xlim(0.1, 10.0)  # it follows the curve's own axis
    np.testing.assert_allclose(top.get_xlim(), [-1.0, 1.0])


@pytest.mark.parametrize(("edf", "present"), [(None, 0), (np.full(9, np.nan), 0), (np.r_[np.nan, np.arange(8.0)], 1)])
def test_second_axis_is_there_only_with_degrees_of_freedom(edf, present):
    upper, _ = draw_curve(edf=edf)
    assert len(second_axis(upper)) == present
    assert len(upper.figure.axes) == 2 + present


def test_second_axis_of_degrees_that_rise_and_fall_shows_values_of_the_curve():
    edf = np.array([3.3, 5.1, 4.2, 6.7, 2.1, 8.9, 1.4, 7.6, 2.2])
    (top,) = second_axis(draw_curve(edf=edf)[0])
    assert {float(label.get_text()) for label in top.get_xticklabels()} <= set(edf)


def test_error_far_above_the_best_is_cut_and_written():
    exploding = {name: np.r_[1e6, array[1:]] for name, array in CURVE.items()}
    for ax in draw_curve(curve=exploding, selected={}):
        assert ax.get_ylim()[1] < 20
        assert [text.get_text() for text in ax.texts] == ["up to 1000000"]


def test_no_category_is_cut_off():
    curve = {name: np.r_[1e6, array[1:3]] for name, array in CURVE.items()}
    for ax in draw_curve(["linear", "poly", "rbf"], curve, selected={}):
        assert ax.get_ylim()[1] > 1e6


def test_categories_are_points_and_bars_in_the_order_given_without_a_band():
    names = ["sqrt", None, "log2", True]
    curve = {name: array[[3, 4, 5, 6]] for name, array in CURVE.items()}
    upper, lower = draw_curve(
        names, curve, selected={"min": None, "one_se": "sqrt"}, indistinguishable=[None, "log2"], edf=[4, 3, 2, np.nan]
    )
    assert [label.get_text() for label in lower.get_xticklabels()] == ["sqrt", "None", "log2", "True"]
    assert curve_line(upper).get_linestyle() == "None"
    np.testing.assert_array_equal(curve_line(upper).get_ydata(), curve["estimate"])
    (bars,) = upper.collections
    np.testing.assert_array_equal([bar[:, 1] for bar in bars.get_segments()], np.c_[curve["low"], curve["high"]])
    assert set(upright(upper)) == {0.0, 1.0}
    assert {text.get_text() for text in upper.texts} == {"min", "one_se"}
    assert shaded(lower) == [(0.5, 2.5)]
    (top,) = second_axis(upper)
    assert [label.get_text() for label in top.get_xticklabels()] == ["4", "3", "2"]


def test_selected_category_that_is_not_there_is_an_error():
    curve = {name: array[:2] for name, array in CURVE.items()}
    with pytest.raises(OneFitError, match=r"'poly' is not on the axis, which has linear, rbf"):
        draw_curve(["linear", "rbf"], curve, selected={"min": "poly"})


def test_whole_numbers_on_a_linear_axis_have_whole_ticks():
    _, lower = draw_curve(np.arange(1, 10), selected={"min": 5}, log_axis=False)
    assert all(tick == round(tick) for tick in lower.get_xticks())


def test_title_can_be_set():
    assert draw_curve(title="Diabetes")[0].get_title(loc="left") == "Diabetes"


MODELS = ["spline", "ridge", "forest"]
PAIRS = [("spline", "ridge"), ("spline", "forest"), ("ridge", "forest")]


def draw_comparison(names=MODELS, pairs=PAIRS, axes=None, difference=(-0.3, 0.1, 0.4)):
    half = [0.2, 0.3, 0.3]
    return display.plot_comparison(
        names,
        [3.0, 3.3, 2.9],
        [2.6, 2.8, 2.5],
        [3.5, 3.9, 3.4],
        pairs,
        difference,
        np.subtract(difference, half),
        np.add(difference, half),
        loss="absolute_error",
        confidence_level=0.95,
        axes=axes,
    )


def row_bars(ax):
    """Bars by the label of their row."""
    labels = [label.get_text() for label in ax.get_yticklabels()]
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_ydata()) == 0]
    return {labels[int(line.get_ydata()[0])]: line for line in drawn}


def test_comparison_lists_models_and_pairs_from_top_to_bottom_as_given():
    axes = draw_comparison()
    assert axes.shape == (2,)
    left, right = axes
    assert [label.get_text() for label in left.get_yticklabels()] == MODELS
    assert [label.get_text() for label in right.get_yticklabels()] == [f"{a} - {b}" for a, b in PAIRS]
    assert all(ax.get_ylim()[0] > ax.get_ylim()[1] for ax in axes)
    assert {name: tuple(line.get_xdata()) for name, line in row_bars(left).items()} == {
        "spline": (2.6, 3.5),
        "ridge": (2.8, 3.9),
        "forest": (2.5, 3.4),
    }
    np.testing.assert_allclose(row_bars(right)["spline - ridge"].get_xdata(), (-0.5, -0.1))
    assert left.get_xlabel() == "absolute error"
    assert right.get_xlabel().startswith("difference in absolute error")


def test_differences_whose_interval_excludes_zero_are_emphasised_and_no_others():
    left, right = draw_comparison()
    bold = [label.get_text() for label in right.get_yticklabels() if label.get_fontweight() == "bold"]
    assert bold == ["spline - ridge", "ridge - forest"]
    colours = {name: to_hex(line.get_color()) for name, line in row_bars(right).items()}
    assert [name for name, colour in colours.items() if colour == CHOSEN.lower()] == bold
    assert 0.0 in upright(right)
    assert 0.0 not in upright(left)
    assert not any(label.get_fontweight() == "bold" for label in left.get_yticklabels())


@pytest.mark.parametrize("shift", [-50.0, 50.0])
def test_zero_stays_in_sight_of_differences_far_from_it(shift):
    _, right = draw_comparison(difference=[shift, shift + 1, shift - 1])
    low, high = right.get_xlim()
    assert low < 0 < high


def test_pair_without_a_difference_is_listed_as_not_available():
    _, right = draw_comparison(difference=[np.nan, 0.1, 0.4])
    assert [text.get_text() for text in right.texts] == ["not available"]


@pytest.mark.parametrize("plot", [draw_curve, draw_comparison])
def test_two_given_axes_are_drawn_on_and_returned(plot):
    figure, given = plt.subplots(2)
    for axes in (given, list(given), given.reshape(1, 2)):
        assert list(plot(axes=axes)) == list(given)
    assert plt.get_fignums() == [figure.number]
    assert given[0].get_xlim() == given[1].get_xlim() or plot is draw_comparison


@pytest.mark.parametrize("plot", [draw_curve, draw_comparison])
@pytest.mark.parametrize("count", [1, 3])
def test_wrong_number_of_axes_says_what_is_needed(plot, count):
    _, axes = plt.subplots(count)
    with pytest.raises(OneFitError, match=rf"has 2 parts .* holds {count}: pass 2 matplotlib Axes"):
        plot(axes=axes)


@pytest.mark.parametrize("plot", ["intervals", "curve", "comparison"])
def test_missing_matplotlib_names_the_extra_to_install(monkeypatch, plot):
    real_import = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError("No module named 'matplotlib'")
        return real_import(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(OneFitError, match=r'pip install "\.\[plot\]"` in the copy of the repository'):
        {"intervals": draw, "curve": draw_curve, "comparison": draw_comparison}[plot]()


def test_names_below_a_heat_map_do_not_cover_each_other():
    names = ["additive", "ridge", "20 neighbours", "a model with a long name"]
    difference = np.subtract.outer(np.arange(4.0), np.arange(4.0))
    ax = display.plot_differences(names, difference, difference != 0, loss="squared_error", confidence_level=0.95)
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {45.0}
    short = display.plot_differences(
        names[:2], difference[:2, :2], difference[:2, :2] != 0, loss="a", confidence_level=0.95
    )
    ax.figure.canvas.draw()
    short.figure.canvas.draw()
    first, second = (label.get_window_extent() for label in short.get_xticklabels())
    assert first.x1 < second.x0


def test_the_legend_of_blocks_of_time_stands_on_a_ground_of_its_own():
    time = np.arange(20.0)
    ax = display.plot_along_time(
        time, time % 3, [(0, 19, 1.0)], dropped=(4, 19), block=(8, 17), label="squared error", title="blocks"
    )
    assert ax.get_legend().get_frame_on()
    assert ax.get_legend().get_frame().get_alpha() >= 0.9


def written(figure):
    """Boxes in pixels of all texts of a figure as it is drawn: titles, names of axes, labels of ticks."""
    figure.draw_without_rendering()
    texts = []
    for axes in figure.axes:
        texts += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            labels = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
            # boxes of slanted names overlap where the names do not
            texts += [label for at, label in labels if low <= at <= high and label.get_rotation() in (0, 90)]
    return [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]


def overlapping(figure):
    """Pairs of texts that lie on one another, and texts that the edge of the figure cuts."""
    boxes, edge = written(figure), figure.bbox
    pairs = [
        (a, b)
        for (a, one), (b, other) in itertools.combinations(boxes, 2)
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 1 and min(one.y1, other.y1) - max(one.y0, other.y0) > 2
    ]
    cut = [a for a, box in boxes if box.x0 < -1 or box.x1 > edge.width + 1 or box.y0 < -1 or box.y1 > edge.height + 1]
    return pairs + cut


@pytest.mark.parametrize("width", [4.0, 6.0])
@pytest.mark.parametrize(
    "names", [["ridge", "random forest"], ["ridge regression", "least squares", "neighbours", "tree"]]
)
def test_texts_of_a_comparison_keep_apart_in_a_small_figure(names, width):
    pairs = list(itertools.combinations(names, 2))
    errors, differences = 3000.0 + 300 * np.arange(len(names)), -700.0 + 150 * np.arange(len(pairs))
    above, _ = display.plot_comparison(
        names, errors, errors - 400, errors + 400, pairs, differences, differences - 400, differences + 400,
        loss="squared_error", confidence_level=0.95,
    )  # fmt: skip
    figure = above.figure
    assert figure.get_figwidth() <= 6  # 400 pixels of it are 67 to the inch, at which small text is still read
    figure.set_size_inches(width, figure.get_figheight())
    assert overlapping(figure) == []


@pytest.mark.parametrize("width", [4.0, 6.4])
def test_texts_of_terms_keep_apart_in_a_small_figure(width):
    x = np.linspace(20, 200, 50)
    levels = ["harbour", "north", "old town", "south", "university"]
    panels = [
        display.TermPanel(x, x - 100, x - 110, x - 90, "floor_area", "s(floor_area, 1.6)", x),
        display.TermPanel(x, x - 100, x - 110, x - 90, "age", "s(age, 6.0)", x),
        display.TermPanel(levels, np.arange(5), np.arange(5) - 1, np.arange(5) + 1, "district", "effect of district"),
    ]
    axes = display.plot_terms(panels)
    figure = axes[0].figure
    assert figure.get_figwidth() <= 6.4
    figure.set_size_inches(width, figure.get_figheight())
    assert overlapping(figure) == []
