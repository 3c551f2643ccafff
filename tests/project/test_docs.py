"""The pages: their code runs and prints what they show, their links lead somewhere, and every name is described.

A page is run from top to bottom in one namespace. A block of Python is run as it stands; with ``>>>`` it is a doctest;
the indented lines below a block, if there are any, are what it prints. Words after ``python`` say more:
``warns=NAME`` that the block gives this warning, ``no-test`` that it is not run.
"""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import re
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

import onefit
from onefit import datasets, errors, losses, report
from onefit.inference.intervals import RULES
from onefit.learners.steps import STEPS
from onefit.running.habits import HABITS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BUILT = {"_build", "gallery", "generated", "_static", "_templates"}
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in DOCS.rglob("*.md") if BUILT.isdisjoint(path.relative_to(DOCS).parts)),
]
FENCED = r"(?ms)^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```[ \t]*$"
BLOCK = re.compile(FENCED + r"(?:\n\n(?P<output>(?:    [^\n]*\n|\n(?=    ))+))?")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = {
    "onefit": onefit,
    "onefit.datasets": datasets,
    "onefit.losses": losses,
    "onefit.errors": errors,
    "onefit.report": report,
}


@dataclass(frozen=True)
class Block:
    """Code of a page, the words after its language, what it should print (None: anything), and where it stands."""

    code: str
    words: tuple[str, ...]
    output: str | None
    line: int


def blocks_of(page):
    """Blocks of Python in a page that are to be run."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        words = tuple(match["info"].split())
        if words[:1] == ("python",) and "no-test" not in words:
            output = match["output"] and "".join(line[4:] or "\n" for line in match["output"].splitlines(keepends=True))
            found.append(Block(match["code"], words[1:], output, text.count("\n", 0, match.start()) + 2))
    return found


def lines(text):
    """Lines without the blanks at their ends."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def run(block, names, page):
    """Run a block in a namespace and return what it prints; its failures name the page and the line."""
    if ">>>" in block.code:
        test = doctest.DocTestParser().get_doctest(block.code, names, page.name, str(page), block.line - 1)
        report = io.StringIO()
        result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.write, clear_globs=False)
        names.update(test.globs)
        assert result.failed == 0, report.getvalue()
        return None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), names)
    return printed.getvalue()


@pytest.mark.parametrize("page", [p for p in PAGES if blocks_of(p)], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    with mock.patch.dict(RULES), mock.patch.dict(STEPS):  # some pages add to them
        _run_all(page, names)


def _run_all(page, names):
    for block in blocks_of(page):
        expected = [getattr(errors, word[6:]) for word in block.words if word.startswith("warns=")]
        with pytest.warns(expected[0]) if expected else contextlib.nullcontext():
            printed = run(block, names, page)
        if block.output is not None and printed is not None:
            assert lines(printed) == lines(block.output), f"{page}:{block.line}"
        for picture in re.findall(r'savefig\("([^"]+)"', block.code):
            assert Path(picture).read_bytes().startswith(b"\x89PNG")


# ----------------------------------------------------------------------------------------- the reader


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_says_first_whom_it_is_for(page):
    _, _, text = page.read_text(encoding="utf-8").partition("\n\n")
    assert text.startswith("For "), f"{page}: {text[:60]}"


@pytest.mark.parametrize("name", ["guide", "speed", "trust"])
def test_a_page_that_answers_a_question_does_so_on_its_first_screen(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    head, bar, _ = text.partition("\n| your ")
    assert bar
    assert len(head) < 1000  # at 400 pixels, a screen has about 1,300 characters of text
    assert len(text.splitlines()) < 200


def test_no_page_installs_from_where_there_is_no_release():
    told = {page.name for page in PAGES if 'pip install "onefit' in page.read_text(encoding="utf-8")}
    assert told == set()


@pytest.mark.parametrize("page", sorted((DOCS / "contributing").glob("add-*.md")), ids=lambda path: path.stem)
def test_a_page_on_what_to_add_is_short_and_has_an_example(page):
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 60
    assert blocks_of(page)


def test_the_words_that_errors_know_are_on_the_page_that_they_name():
    text = (DOCS / "coming-from" / "index.md").read_text(encoding="utf-8")
    assert sorted(name for name in HABITS if not re.search(rf"`{name}\b", text)) == []


# --------------------------------------------------------------------------------------------- links


def anchors(page):
    """Anchors that a code host and MyST make of the headings of a page."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"(?m)^#+ (.+)$", text)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_of_a_page_lead_to_files_and_headings_that_exist(page):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        made = file.is_relative_to(DOCS / "gallery")  # by the build
        if not (made or file.exists()) or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_every_page_of_the_gallery_that_is_linked_has_its_script():
    linked = {name for page in PAGES for name in re.findall(r"gallery/(\w+)\.\w+\)", page.read_text(encoding="utf-8"))}
    assert {name for name in linked - {"index"} if not (ROOT / "examples" / f"{name}.py").exists()} == set()


# ------------------------------------------------------------------------------------- the reference


def reference():
    """Text of the pages of the reference."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "api").glob("*.md")))


def public_names():
    return [(module, name) for module, owner in MODULES.items() for name in owner.__all__]


@pytest.mark.parametrize(("module", "name"), public_names())
def test_every_public_name_is_in_the_reference_with_an_example(module, name):
    value = getattr(MODULES[module], name)
    text = reference()
    if inspect.ismodule(value):
        assert f"automodule:: {module}.{name}\n" in text
        return
    assert len(re.findall(rf"\.\. auto(?:class|function|exception):: {module}\.{name}\n", text)) == 1
    shown = "".join(block.code for path in (DOCS / "api").glob("*.md") for block in blocks_of(path))
    assert "Examples\n---" in (inspect.getdoc(value) or "") or re.search(rf"\b{name}\b", shown)


def test_the_reference_has_no_name_that_is_gone():
    for path in re.findall(r"\.\. auto(?:class|function|exception):: onefit\.([\w.]+)", reference()):
        value = onefit
        for part in path.split("."):
            value = getattr(value, part)


# ------------------------------------------------------------------------------------- the glossary


def names_of_the_api():
    """Public names, arguments of the functions that answer, and fields of what they return."""
    functions = (onefit.nested_cv, onefit.error_curve, onefit.compare)
    results = (onefit.NestedCVResult, onefit.ErrorCurve, onefit.Comparison)
    yield from onefit.__all__
    for function in functions:
        yield from inspect.signature(function).parameters
    for result in results:
        attributes = (inspect.getdoc(result) or "").partition("Attributes\n")[2]
        for line in re.findall(r"(?m)^([\w, ]+?)(?: :|$)", attributes):
            yield from line.split(", ")
        yield from (name for name in vars(result) if not name.startswith("_"))


def test_the_glossary_has_every_name_of_the_api():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`(\w+)(?:\(\))?`", text))
    assert sorted({name for name in names_of_the_api() if name not in explained}) == []
