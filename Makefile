# Everything runs in .venv, which is made on first use and renewed when the requirements change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo campaigns test-lowest test lint types tests site bench docs release ledger clean

demo: $(READY)          ## the main job: race five paradigms on digits mosaics, end with a report
	$(BIN)/foveate demo

test: lint types tests site  ## all that CI checks

lint: $(READY)
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/ruff check src tests benchmarks tools

types: $(READY)
	$(BIN)/mypy

tests: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -q

campaigns: $(READY)     ## smoke sizes of the fuzz and fault campaigns
	$(BIN)/python tools/fuzz_campaign.py
	OMP_NUM_THREADS=1 $(BIN)/python tools/fault_campaign.py

test-lowest:            ## the tests with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt torch
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python -c constraints.txt \
	  --resolution lowest-direct -e '.[dev]'
	OMP_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -n 2 -q --timeout 900

bench: $(READY)         ## every row of docs/performance.md at small size, under ten minutes on an idle machine
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/all.py

SPHINX := $(BIN)/sphinx-build -q -W --keep-going -b html docs

docs: $(READY)          ## the documentation site with the outputs of its code; warnings are errors
	$(SPHINX) docs/_build/html
	@echo docs/_build/html/index.html

site: $(READY)          ## the same without running the code of the pages, which the tests run
	FOVEATE_DOCS_EXECUTION=off $(SPHINX) docs/_build/unexecuted -j 2

release: $(READY)       ## sdist and wheel in dist/, installed and tried in a clean environment
	$(BIN)/python tools/check_release.py dist

ledger: $(READY)        ## run every claim at small scale; renew the shipped ledger and its docs
	$(BIN)/foveate claims --run --long --report --docs docs/papers
	cp $${FOVEATE_RUNS:-runs}/claims-small/claims.json src/foveate/studies/results/claims.json

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .venv-lowest build dist docs/_build src/*.egg-info .mypy_cache .ruff_cache .pytest_cache
