# The habits of the project. `make fit` and `make test` work on a fresh clone.
PYTHON ?= python3
BIN := .venv/bin

# Without an NVIDIA card the CPU build of PyTorch is enough; with one, pip takes its usual wheel.
CONSTRAINT := $(shell command -v nvidia-smi >/dev/null 2>&1 || echo -c constraints/cpu.txt)

# Processes that tests are spread over; each computes with one thread, and so do those it starts.
JOBS ?= $(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || echo 2)
SPREAD := -n $(JOBS) --dist worksteal
test shapes part slow timm plugins lowest: export OMP_NUM_THREADS = 1
# pytest checks types and shapes of every call, which takes a third of its time. Targets of many
# tests leave it out; `make shapes` has it for the parts that compute.
UNTYPED := --jaxtyping-packages=
FAST := -m "not slow and not gpu and not data"
COMPUTING := $(addprefix tests/,conformance decoders encoders functional metrics objectives predictors regularizers)

PLUGINS := $(sort $(dir $(wildcard plugins/*/pyproject.toml)))

.PHONY: fit test shapes part slow gpu timm plugins $(addsuffix tests,$(PLUGINS)) lowest lint docs docs-tables bench laws stress faults clean
.DEFAULT_GOAL := test

fit: .venv/.package
	$(BIN)/dislab fit --config factorvae --config first_run

test: lint
	$(BIN)/python -m pytest $(SPREAD) $(UNTYPED) $(FAST)

shapes: .venv/.dev
	$(BIN)/python -m pytest $(SPREAD) $(FAST) $(COMPUTING)

# The tests of one part, in some seconds: make part NAME=TotalCorrelation
part: .venv/.dev
	$(BIN)/python tests/part.py $(NAME)

# All slow tests, or an eighth of them: make slow EIGHTH=2
FEWER := $(if $(EIGHTH),-p tests.eighth --eighth $(EIGHTH))
slow: .venv/.dev
	$(BIN)/python -m pytest $(SPREAD) $(UNTYPED) -m "slow and not gpu and not data" $(FEWER)

gpu: .venv/.dev
	$(BIN)/python -m pytest -m gpu

# timm needs torchvision, whose wheel spoils an environment with the CPU build of PyTorch.
timm: .venv-timm/.made
	.venv-timm/bin/python -m pytest tests/timm

# The distributions under plugins/, with the packages that they need, in an environment of their own
# on top of dislab's: in that one they would show up in messages and tables that its tests compare.
# One process for each: to import torch in more of them would take longer than most of the tests.
# EIGHTH=2 runs an eighth of their slow tests.
plugins: .venv/plugins/.made
	$(MAKE) --jobs=$(JOBS) --output-sync=target $(addsuffix tests,$(PLUGINS))

$(addsuffix tests,$(PLUGINS)): .venv/plugins/.made
	.venv/plugins/bin/python -m pytest $(@D) $(FEWER)

# The suite on the oldest releases that pyproject.toml allows: their warnings are no errors, and
# deprecations, which matplotlib prints into commands' output, are not shown.
# SELECT="test_metrics or test_training" runs a part of it.
lowest: .venv-lowest/.made
	.venv-lowest/bin/python -m pytest $(SPREAD) $(UNTYPED) -o filterwarnings=ignore::DeprecationWarning $(FAST) $(if $(SELECT),-k "$(SELECT)")

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/.dev
	$(BIN)/mkdocs build --strict

docs-tables: .venv/.dev
	$(BIN)/python docs/tables.py

bench: .venv/.package
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/default_set.py
	$(BIN)/python benchmarks/dci_agreement.py kinds
	$(BIN)/python benchmarks/dci_agreement.py graded
	$(BIN)/python benchmarks/dci_agreement.py draws
	$(BIN)/python benchmarks/dci_agreement.py coarse
	$(BIN)/python benchmarks/published_scores.py
	$(BIN)/python benchmarks/score_table.py
	$(BIN)/python benchmarks/render.py
	$(BIN)/python benchmarks/data_feed.py
	$(BIN)/python benchmarks/cpu_step.py
	$(BIN)/python benchmarks/train_throughput.py

# The page of laws, whole: some twenty minutes. Tests compare it with the scores in short form.
laws: .venv/.dev
	$(BIN)/python benchmarks/laws.py

# Scores without results in the stress test, and its pictures. `make test` measures a part of it again.
stress: .venv/.dev
	$(BIN)/python benchmarks/stress.py --jobs $(JOBS)

# Kills, malformed inputs, damaged checkpoints and mutated records, whole: some hours. CI runs them in a short form.
faults: .venv/.dev
	$(BIN)/python benchmarks/faults/kills.py --json benchmarks/results/kills.json
	$(BIN)/python benchmarks/faults/inputs.py --json benchmarks/results/inputs.json
	$(BIN)/python benchmarks/faults/damage.py --json benchmarks/results/damage.json
	$(BIN)/python benchmarks/faults/records.py --json benchmarks/results/records.json
	$(BIN)/python benchmarks/faults/study_kills.py --json benchmarks/results/study_kills.json

clean:
	rm -rf .venv .venv-timm .venv-lowest site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

.venv/.made:
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"dislab needs Python 3.11 or newer, and $(PYTHON) is {v[0]}.{v[1]}; name another one, such as: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip  # pips of years ago resolve three times as long
	@touch $@

.venv-timm/.made: pyproject.toml
	$(PYTHON) -m venv .venv-timm
	.venv-timm/bin/python -m pip install --quiet $(CONSTRAINT) --editable '.[test,timm]'
	@touch $@

.venv-lowest/.made: pyproject.toml constraints/lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade pip
	.venv-lowest/bin/python -m pip install --quiet -c constraints/lowest.txt --editable '.[test]'
	@touch $@

.venv/.package: .venv/.made pyproject.toml
	$(BIN)/python -m pip install --quiet $(CONSTRAINT) --editable .
	@touch $@

.venv/.dev: .venv/.made pyproject.toml
	$(BIN)/python -m pip install --quiet $(CONSTRAINT) --editable '.[dev]'
	@touch $@

.venv/plugins/.made: .venv/.dev $(wildcard plugins/*/pyproject.toml plugins/*/src/*/* plugins/*/src/*/configs/*)
	rm -rf .venv/plugins
	$(BIN)/python -m venv .venv/plugins
	$(BIN)/python tests/on_top.py .venv/plugins
	.venv/plugins/bin/python -m pip install --quiet $(addprefix ./,$(PLUGINS))
	@touch $@
