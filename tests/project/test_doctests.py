"""Every example in a docstring of the package gives what it says."""

import contextlib
import doctest
import importlib
import io
import pkgutil

import pytest

import onefit
from conftest import LACKING

MODULES = [name for _, name, _ in pkgutil.walk_packages(onefit.__path__, "onefit.") if not name.endswith("__main__")]


@pytest.mark.parametrize("name", ["onefit", *MODULES])
def test_docstring_examples_are_true(name):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        results = doctest.testmod(importlib.import_module(name))
    if results.failed and LACKING and 'pip install ".[' in said.getvalue():
        pytest.skip(f"needs an extra; there is no {', '.join(LACKING)}")
    assert results.failed == 0, said.getvalue()


def test_there_are_examples_to_check():
    finder = doctest.DocTestFinder()
    examples = sum(len(t.examples) for name in MODULES for t in finder.find(importlib.import_module(name)))
    assert examples >= 30
