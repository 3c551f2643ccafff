PYTHON ?= python

.PHONY: docs fuzz lint paper paper-quick sanitize test validation

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

fuzz:
	$(PYTHON) -m fuzz --minutes 60

sanitize:
	$(PYTHON) -m fuzz.sanitize

docs:
	$(PYTHON) -m sphinx -W --keep-going -b html docs docs/_build/html
