"""Every example in a docstring of the package gives what it says."""

import doctest
import importlib
import pkgutil

import pytest

import onefit

MODULES = [name for _, name, _ in pkgutil.walk_packages(onefit.__path__, "onefit.") if not name.endswith("__main__")]


@pytest.mark.parametrize("name", ["onefit", *MODULES])
def test_docstring_examples_are_true(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_there_are_examples_to_check():
    finder = doctest.DocTestFinder()
    examples = sum(len(t.examples) for name in MODULES for t in finder.find(importlib.import_module(name)))
    assert examples >= 30
