PYTHON ?= python
.DEFAULT_GOAL := help

.PHONY: benchmarks-quick check cores docs evidence fix fuzz help lint lowest package paper paper-quick sanitize test test-all test-cluster validation

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test:  ## the tests of every day, as the README runs them: the same everywhere, a few minutes
	$(PYTHON) -m pytest -n 2

test-all:  ## all tests, studies and long sweeps too, with random examples
	HYPOTHESIS_PROFILE=random $(PYTHON) -m pytest -n 2 -m "slow or not slow"

test-cluster:  ## the tests on a Dask cluster of two processes; pip install -e ".[dask]" first
	$(PYTHON) -m pytest -m "cluster and not slow"

cores:  ## the numerical tests on the code paths of other processors
	.ci/cores

lowest:  ## the tests with the lowest versions that pyproject.toml allows
	.ci/lowest

package:  ## build sdist and wheel, install each in an empty environment, and try it
	.ci/package

lint:  ## ruff and mypy
	ruff check .
	ruff format --check .
	mypy

fix:  ## what ruff can mend
	ruff check --fix .
	ruff format .

check:  ## everything that must pass before a merge, in a fresh environment
	.ci/run

benchmarks-quick:  ## a first look at the ratios to peers
	$(PYTHON) -m benchmarks --quick

evidence:  ## every figure of README and documentation again, on an idle machine: benchmarks and the paper, into files and pages
	$(PYTHON) -m benchmarks --evidence

paper:  ## the figures and tables of the paper
	$(PYTHON) -m paper

paper-quick:  ## the same on small grids
	$(PYTHON) -m paper --quick

validation:  ## coverage of the intervals; resumable, long
	$(PYTHON) -m validation

fuzz:  ## an hour of random problems against refits in ball arithmetic
	$(PYTHON) -m fuzz --minutes 60

sanitize:  ## the compiled kernels under the sanitizers of gcc
	$(PYTHON) -m fuzz.sanitize

docs:  ## the site, in docs/_build/html
	$(PYTHON) -m sphinx -W --keep-going -b html docs docs/_build/html
