"""The report in a real browser: it opens offline, without an error, and its charts answer.

The browser is Debian's chromium, or the one that ONEFIT_CHROMIUM names. Without one the tests are skipped, unless
ONEFIT_BROWSER=required.
"""

import os
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

import onefit
from helpers import quietly
from onefit.report import Request, write_report
from onefit.report.palette import PALETTES

EVIL = "</script><script>window.ran = 1</script><img src=x onerror=window.ran=1>"
OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
CHROMIUM = os.environ.get("ONEFIT_CHROMIUM") or shutil.which("chromium")
REQUIRED = os.environ.get("ONEFIT_BROWSER") == "required"

pytestmark = pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason="chromium is not installed")


@pytest.fixture(scope="module")
def browser():
    sync_api = (
        pytest.importorskip("playwright.sync_api") if not REQUIRED else __import__("playwright.sync_api").sync_api
    )
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=OPTIONS, ignore_default_args=["--hide-scrollbars"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def result_and_curve():
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.standard_normal((60, 4)), columns=["a", "b", "c", EVIL])
    y = 100 * (X.to_numpy() @ [1.0, -2.0, 0.5, 0.0] + rng.standard_normal(60))
    folds = {"n_folds": 5, "n_repeats": 8, "random_state": 0}
    result = onefit.nested_cv(Ridge(1.0), X, y, **folds)
    curve = onefit.error_curve(
        onefit.PenalizedRegression(), X, y, param_name="lam", param_range=np.logspace(-2, 4, 25), **folds
    )
    return X, y, result, curve


@pytest.fixture(scope="module")
def report(tmp_path_factory, result_and_curve):
    X, y, result, curve = result_and_curve
    request = Request(title=f"Report of {EVIL}", data=f"{EVIL}.csv", target=EVIL, notes=(EVIL,), command=EVIL)
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(path, request, result=result, curve=curve, fitted=Ridge(1.0).fit(X, y), y=y)


@pytest.fixture(scope="module")
def heard():
    """What pages said that they should not: messages, errors, requests."""
    return []


@pytest.fixture(scope="module")
def opened(browser, report, heard):
    """Opens a report; the same page again for the same options, for the tests leave it as it was."""
    pages = {}

    def open_page(path=report, **options):
        key = (path, repr(options))
        if key not in pages:
            context = browser.new_context(**{"viewport": {"width": 1000, "height": 900}, **options})
            page = pages[key] = context.new_page()
            page.on("console", lambda message: heard.append(message.text))
            page.on("pageerror", lambda error: heard.append(str(error)))
            page.on("request", lambda request: heard.append(request.url) if request.url != path.as_uri() else None)
            page.goto(path.as_uri())
            page.wait_for_selector(".chart svg")
        return pages[key]

    yield open_page
    for page in pages.values():
        page.context.close()


@pytest.fixture(autouse=True)
def nothing_went_wrong(opened, heard):
    yield
    assert [said for said in heard if not said.startswith(("data:", "blob:"))] == []
    assert opened().evaluate("window.ran") is None


def test_page_opens_from_a_file_with_all_charts_and_asks_nobody_for_anything(opened):
    page = opened()
    assert page.locator(".chart").count() >= 3
    drawn = "all => all.every(chart => chart.querySelectorAll('svg path, svg circle').length > 0)"
    assert page.locator(".chart").evaluate_all(drawn)


def test_table_of_rules_has_the_numbers_of_the_result(opened, result_and_curve):
    _, _, result, _ = result_and_curve
    rows = opened().locator("#rules ~ .scroll tbody tr").all_inner_texts()
    shown = [row.split("\t")[:4] for row in rows]
    table = result.intervals
    expected = [[name, *(f"{v:,.0f}" for v in table.loc[name, ["estimate", "low", "high"]])] for name in table.index]
    assert shown == expected


def test_hover_over_the_curve_shows_the_value_and_its_interval(opened, result_and_curve):
    curve = result_and_curve[3]
    page = opened()
    page.locator("#chart-curve-0").scroll_into_view_if_needed()
    middle = int(np.argmin(np.abs(np.log10(curve.values) - 1.0)))
    path = page.locator('#chart-curve-0 path[fill="none"]').first
    # the points of the line stand in its path, in the order of the values
    where = """(path, at) => {
        const [x, y] = path.getAttribute("d").slice(1).split("L")[at].split(",").map(Number);
        const spot = new DOMPoint(x, y).matrixTransform(path.ownerSVGElement.getScreenCTM());
        return [spot.x, spot.y];
    }"""
    page.mouse.move(*path.evaluate(where, middle))
    texts = page.locator("#chart-curve-0 .tip:visible p").all_text_contents()
    assert len(texts) == 2  # the error above, the paired difference below
    assert "lam 10, edf" in texts[0]
    assert f"{curve.estimate[middle]:,.0f} ({curve.low[middle]:,.0f} to {curve.high[middle]:,.0f})" in texts[0]


def test_points_of_the_chart_stand_where_the_axis_says(opened, result_and_curve):
    """The labels of the axis of errors, read back, give the estimates of the rules."""
    result = result_and_curve[2]
    page = opened()
    found = page.locator("#chart-rules-0").evaluate("""chart => ({
        points: [...chart.querySelectorAll("circle.point")].map(c => Number(c.getAttribute("cx"))),
        labels: [...chart.querySelectorAll("text[text-anchor=middle]:not(.xtitle)")].map(
            t => [Number(t.firstChild.getAttribute("x")), Number(t.textContent.replace(",", ""))]),
    })""")
    pixels, values = np.array(found["labels"]).T
    slope, start = np.polyfit(pixels, values, 1)
    estimates = np.sort(result.intervals["estimate"].to_numpy())
    np.testing.assert_allclose(np.sort(found["points"]) * slope + start, estimates, rtol=1e-3)


def test_script_tags_in_names_are_shown_as_text_in_the_page_and_in_the_charts(opened):
    page = opened()
    assert page.title() == f"Report of {EVIL}"
    assert page.locator("h1").inner_text() == f"Report of {EVIL}"
    assert EVIL in page.locator("tbody th").all_inner_texts()
    assert page.locator("#chart-rows-0 .ytitle").text_content() == "observed </script><script>window.ran = 1</scrip…"
    assert page.locator("img[src=x]").count() == 0


def test_on_a_phone_nothing_sticks_out_no_label_is_cut_and_wide_tables_say_so(opened):
    page = opened(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    edges = page.locator(".chart text").evaluate_all(
        "all => all.map(text => [text.getBoundingClientRect().left, text.getBoundingClientRect().right])"
    )
    assert min(left for left, _ in edges) >= 0
    assert max(right for _, right in edges) <= 360
    tables = page.locator(".scroll:visible").evaluate_all(
        "all => all.map(t => [t.scrollWidth > t.clientWidth + 1, getComputedStyle(t, '::before').content])"
    )
    assert any(is_wide for is_wide, _ in tables)
    assert all((hint == '"more to the right →"') == is_wide for is_wide, hint in tables)


def test_captions_end_beside_the_scroll_bar(opened):
    page = opened(viewport={"width": 400, "height": 740})
    ends = page.locator(".scroll:visible caption span").evaluate_all(
        "all => all.map(text => [text, text.closest('.scroll')].map(each => each.getBoundingClientRect().right))"
    )
    assert len(ends) > 2
    assert all(text <= table + 0.5 for text, table in ends)


def test_a_difference_of_rounding_errors_has_a_zero_without_decimals(opened, tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = X @ [1.0, 2.0]
    models = {"one": onefit.PenalizedRegression(lam=1e-14), "other": onefit.PenalizedRegression(lam=2e-14)}
    comparison = quietly(onefit.compare, models, X, y, n_folds=5, n_repeats=2, random_state=0)
    request = Request(title="exact", data="exact.csv", target="y")
    path = write_report(
        tmp_path / "exact.html", request, result=comparison.results["one"], comparison=comparison, y=y,
        fitted=models["one"].fit(X, y),
    )  # fmt: skip
    texts = opened(path).locator(".chart text").all_text_contents()
    assert [text for text in texts if "0.000000" in text] == []


def test_shares_near_zero_have_no_minus_and_words_of_a_rule_take_two_lines_on_a_phone(opened, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    models = {"LinearDiscriminantAnalysis": LinearDiscriminantAnalysis(), "GaussianNB": GaussianNB()}
    compared = quietly(onefit.compare, models, X, X[:, 0] > 0, n_folds=5, n_repeats=2, random_state=0)
    path = write_report(tmp_path / "classes.html", comparison=compared)
    page = opened(path, viewport={"width": 400, "height": 740})
    assert "−0%" not in page.locator(".chart text").all_text_contents()
    heights = page.locator("td.long:visible").evaluate_all("all => all.map(each => each.clientHeight)")
    line = float(page.locator("td.long").first.evaluate("each => parseFloat(getComputedStyle(each).lineHeight)"))
    assert len(heights) >= 6
    assert max(heights) < 3 * line


def test_no_code_is_under_its_button_and_code_that_is_cut_says_so(opened, tmp_path, result_and_curve):
    _, y, result, _ = result_and_curve
    long = "onefit run table.csv --target y " + " ".join(f"--drop column{i}" for i in range(20))
    path = write_report(tmp_path / "long.html", Request(command=long), result=result, y=y)
    covered = """blocks => blocks.map(block => {
        const button = block.querySelector("button").getBoundingClientRect();
        const words = document.createRange();
        words.selectNodeContents(block.querySelector("code"));
        return [...words.getClientRects()].some(word => word.left < button.right && word.right > button.left
            && word.top < button.bottom && word.bottom > button.top);
    })"""
    cut = """all => all.map(each => [each.id, each.scrollWidth > each.clientWidth + 1,
        getComputedStyle(each, "::before").content])"""
    for width in (360, 1200):
        page = opened(path, viewport={"width": width, "height": 740})
        assert page.locator(".code").evaluate_all(covered) == [False, False, False]
        blocks = {name: (is_cut, hint) for name, is_cut, hint in page.locator(".code pre").evaluate_all(cut)}
        assert not blocks["command"][0]
        assert all((hint == '"more to the right →"') == is_cut for is_cut, hint in blocks.values())
        if width == 360:
            assert blocks["python"][0]


def test_labels_of_the_curve_do_not_cover_each_other(opened):
    for options in ({}, {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}):
        boxes = (
            opened(**options)
            .locator("#chart-curve-0 text:not(.ytitle)")
            .evaluate_all(
                "all => all.map(t => t.getBoundingClientRect()).map(b => [b.left, b.right, b.top + 3, b.bottom - 3])"
            )
        )
        for at, (left, right, top, bottom) in enumerate(boxes):
            for other in boxes[:at]:
                assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_and_charts_follow_the_colour_scheme(opened, scheme):
    page = opened(color_scheme="dark")
    page.emulate_media(color_scheme=scheme)

    def rgb(name):
        color = PALETTES[scheme][name]
        return f"rgb({', '.join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))})"

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == rgb("page")
    label = page.locator("#chart-rules-0 text").first
    assert label.evaluate("text => getComputedStyle(text).fill") == rgb("text")


def test_print_is_light_whole_and_not_empty(opened):
    page = opened(color_scheme="dark")
    page.evaluate(
        "addEventListener('beforeprint', () => {"
        " window.printed = document.querySelector('#chart-curve-0 svg').getAttribute('viewBox'); })"
    )
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b", pdf)) >= 3
    assert page.evaluate("window.printed").startswith("0 0 680 ")
    assert not page.locator("#chart-curve-0 svg").get_attribute("viewBox").startswith("0 0 680 ")


def test_copy_button_copies_the_python(opened):
    page = opened()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("button[data-copy=python]").click()
    page.locator("button[data-copy=python]", has_text="Copied").wait_for()  # a string would need eval, which is barred
    assert page.evaluate("navigator.clipboard.readText()").startswith("import onefit\n\nresult = onefit.nested_cv(")


def test_outputs_open_one_by_one_and_draw_their_charts(opened, tmp_path, two_outputs):
    X, y = two_outputs
    result = onefit.nested_cv(Ridge(0.01), X, y, n_folds=12, n_repeats=3, random_state=0)
    page = opened(write_report(tmp_path / "two.html", result=result, y=y))
    assert page.locator("#chart-rules-0 svg").count() == 1
    assert page.locator("#chart-rules-1 svg").count() == 0
    page.locator('nav a[href="#output-1"]').click()
    page.wait_for_selector("#chart-rules-1 svg")
    assert page.locator("#chart-rules-1 svg").evaluate("svg => svg.viewBox.baseVal.width") > 600


def test_charts_are_drawn_anew_when_the_page_becomes_narrow(browser, report):
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.goto(report.as_uri())
    chart = page.locator("#chart-rules-0 svg")
    assert chart.evaluate("svg => svg.viewBox.baseVal.width") > 600
    page.set_viewport_size({"width": 400, "height": 900})
    page.wait_for_selector("#chart-rules-0 svg[viewBox^='0 0 3']")
    page.close()
