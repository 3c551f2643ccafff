PYTHON ?= python

.PHONY: docs lint paper paper-quick test validation

test:
	$(PYTHON) -m pytest -n 2

lint:
	ruff check .
	ruff format --check .
	mypy

paper:
	$(PYTHON) -m paper

paper-quick:
	$(PYTHON) -m paper --quick

validation:
	$(PYTHON) -m validation

docs:
	$(PYTHON) -m sphinx -W --keep-going -b html docs docs/_build/html
