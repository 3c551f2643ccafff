"""Results -> one HTML page."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence, Sized
from pathlib import Path
from typing import Any

from ..errors import OneFitError, how_to_install
from ..files import check_page_name, write_whole
from ..results.comparison import Comparison
from ..results.curve import ErrorCurve
from ..results.nested import NestedCVResult, plain
from ..typing import Predictor
from . import facts, tables
from .palette import PALETTES
from .request import Request
from .sections import Section, sections
from .subject import Subject
from .words import answer, remarks

__all__ = ["render", "write_report"]

NEEDED = f"Reports need jinja2, which is not installed: {how_to_install('cli')}."


def render(
    request: Request | None = None,
    *,
    result: NestedCVResult | None = None,
    curve: ErrorCurve | None = None,
    comparison: Comparison | None = None,
    fitted: Predictor | None = None,
    y: Sized | None = None,
) -> str:
    """Return the report as the text of one HTML page, which loads nothing from anywhere.

    Parameters
    ----------
    request : Request, default=None
        What was asked; what it leaves empty is left out.
    result, curve, comparison : results, default=None
        What `nested_cv`, `error_curve` and `compare` returned: at least one. The answer is that of ``result``, if it
        is given; else that of the curve at its chosen value; else that of the best model.
    fitted : estimator, default=None
        The model fitted on all rows, for its penalty and coefficients.
    y : array-like, default=None
        What was observed, to be drawn against the held-out predictions.

    Returns
    -------
    str

    Examples
    --------
    >>> import onefit
    >>> from onefit.report import Request, render
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> page = render(Request(data="diabetes"), result=onefit.nested_cv(Ridge(0.1), X, y), y=y)
    >>> page.startswith("<!DOCTYPE html>"), "https://cdn" in page.partition("<body>")[0]
    (True, False)
    """
    subject = Subject(Request() if request is None else request, result, curve, comparison, fitted, y)
    environment = _environment()
    parts = [sections(subject, q) for q in range(subject.n_outputs)]
    charts = {chart.name: chart.figure for part in parts for section in part for chart in section.charts}
    scripts = {name: environment.loader.get_source(environment, f"{name}.js")[0] for name in ("charts", "report")}
    scripts["data"] = script_safe(charts)
    page: str = environment.get_template("report.html").render(
        subject=subject,
        parts=parts,
        palettes=PALETTES,
        scripts=scripts,
        hashes=[_hash(scripts[name]) for name in ("charts", "report")],
        **_texts(subject, parts),
    )
    return page.encode("utf-8", "replace").decode("utf-8")  # a file name may hold bytes that are no text


def _environment() -> Any:
    """The environment of the templates."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise OneFitError(NEEDED) from error
    return Environment(
        loader=PackageLoader("onefit.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _texts(subject: Subject, parts: Sequence[Sequence[Section]]) -> dict[str, object]:
    """Texts and tables outside the sections."""
    every = range(subject.n_outputs)
    warned = [q for q in every for section in parts[q] for check in section.checks if check.status == "look"]
    return {
        "request": subject.request,
        "headline": facts.headline(subject),
        "answers": [answer(subject, q) for q in every],
        "remarks": [remarks(subject, q) for q in every],
        "tiles": facts.tiles(subject),
        "outputs": tables.outputs(subject) if subject.output_names else None,
        "warned": warned,
        "asked": facts.asked(subject),
        "computed": facts.computed(subject),
        "fitted": [] if subject.fitted is None else facts.fitted_facts(subject.fitted),
        "coefficients": None if subject.fitted is None else facts.coefficients(subject.fitted),
        "methods": facts.methods_text(subject),
        "python": facts.python_call(subject),
    }


def write_report(
    path: str | Path,
    request: Request | None = None,
    *,
    result: NestedCVResult | None = None,
    curve: ErrorCurve | None = None,
    comparison: Comparison | None = None,
    fitted: Predictor | None = None,
    y: Sized | None = None,
    force: bool = False,
) -> Path:
    """Write the report to a file of its own, whole or not at all.

    Parameters
    ----------
    path : str or Path
        The file, such as "report.html".
    request, result, curve, comparison, fitted, y
        As in `render`.
    force : bool, default=False
        Whether a file that is there is replaced.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> import onefit
    >>> from onefit.report import write_report
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = onefit.nested_cv(Ridge(0.1), X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/report.html", result=result, y=y).name
    'report.html'
    """
    check_page_name(path)
    page = render(request, result=result, curve=curve, comparison=comparison, fitted=fitted, y=y)
    return write_whole(path, page, force)


def script_safe(value: object) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element, and NaN is null."""
    text = json.dumps(plain(value), allow_nan=False, separators=(",", ":"))  # ASCII: U+2028 and U+2029 are escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(script: str) -> str:
    """What the page's policy calls the script: no other one will run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
