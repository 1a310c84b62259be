# Two commands do everything on a machine with Python >= 3.11 and make: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# A process a core, at most eight: each holds half a gigabyte.
PYTEST = $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal
PIP = $(BIN)/pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: help demo test slow kernels browser lint types wheel venv clean

help:
	@echo "make demo   install into $(VENV), then run: probe run ladder --r 10 --seeds 15"
	@echo "make test   install with the dev tools, then run the default test suite"
	@echo "make slow   install with the dev tools, then run the tests that train to convergence"
	@echo "make wheel  build the wheel and the sdist into dist/"
	@echo "make browser  the tests of the HTML report in headless Chromium, which must be there: apt-get install chromium chromium-driver"
	@echo "make kernels  install with the dev tools, then compile every kernel, dtype and head dimension, and run all their tests"
	@echo "make lint   ruff over the tree"
	@echo "make types  mypy over the four packages"
	@echo "make venv   install with the dev tools"
	@echo "make clean  remove $(VENV) and build outputs (never ./results)"

$(BIN)/python:
	$(PYTHON) -c "import sys; sys.exit('attnprobe needs Python >= 3.11, this is ' + sys.version.split()[0] if sys.version_info < (3, 11) else 0)"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.user: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/.user

venv: $(VENV)/.dev

demo: $(VENV)/.user
	$(BIN)/probe run ladder --r 10 --seeds 15

test: $(VENV)/.dev
	$(PYTEST)

slow: $(VENV)/.dev
	$(PYTEST) -m slow

wheel: $(VENV)/.dev
	$(BIN)/python -m build

browser: $(VENV)/.dev
	$(BIN)/python -m pytest -m browser

kernels: $(VENV)/.dev
	$(BIN)/python -m attnprobe.kernels.compile --all
	$(PYTEST) -m "slow or not slow" tests/kernels tests/probes/test_fused_training.py tests/cli/test_bench_kernels.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .

# mypy finds attnprobe.cli and so on by their import names through links; pyproject.toml says what it asks
types: $(VENV)/.dev
	mkdir -p .types/attnprobe
	for top in cli kernels probes theory; do ln -sfn ../../$$top .types/attnprobe/$$top; done
	MYPYPATH=.types $(BIN)/mypy

clean:
	rm -rf $(VENV) .types build dist *.egg-info
