# Everything happens in .venv; `make demo` and `make test` set it up themselves.

WORKSPACE ?= data/workspace
TREASURY = .venv/bin/treasury --workspace $(WORKSPACE)
BENCH ?= reconcile lake statements sandbox sync close
PYTEST = .venv/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder
ALLOW_ROOT = $(if $(filter 0,$(shell id -u)),--allow-root)

# The processes that the tests start reuse compiled files.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo test acceptance coverage check shape notebook bench torture lock docs pictures screens

help:
	@echo "make demo      close the month of a practice company"
	@echo "make test      run the tests, without the long ones"
	@echo "make acceptance  run the long tests, and those with LibreOffice, Spark and S3: before a release"
	@echo "make coverage  run the tests and report their coverage (a third slower)"
	@echo "make check     lint, types, floors, prose"
	@echo "make notebook  open JupyterLab on the practice company"
	@echo "make bench     measure, in ratios (BENCH=reconcile for one part)"
	@echo "make torture   attack the kinds of actions in 13,570 runs, and count the effects"
	@echo "make docs      write the generated pages of docs/"
	@echo "make screens   write what commands print into README.md and docs/"
	@echo "make pictures  take the pictures of README.md and docs/ (needs Chromium)"
	@echo "make lock      write locks/ (needs uv; UPGRADE=1 takes newer versions)"

install: .venv/run.stamp

.venv/run.stamp: locks/run.txt pyproject.toml tools/install
	@tools/install run

.venv/dev.stamp: locks/dev.txt pyproject.toml tools/install
	@tools/install dev

demo: .venv/run.stamp
	@$(TREASURY) demo
	@echo "The treasury command is .venv/bin/treasury"

notebook: .venv/run.stamp
	@$(TREASURY) practice -- .venv/bin/treasury notebook operations $(ALLOW_ROOT)

.venv-spark/spark.stamp: .venv/dev.stamp tools/spark tools/apart
	@tools/spark

.venv-s3/s3.stamp: .venv/dev.stamp tools/s3 tools/apart
	@tools/s3

# DuckDB plans with many small objects: with this allocator, tests of matching, month and report took 6 % less
# processor time (three pairs in turns, 3 to 7 %, November 2026). tests/conftest.py removes it for what tests start.
ALLOCATOR = $(firstword $(wildcard /usr/lib/*/libtcmalloc_minimal.so.4))

test: .venv/dev.stamp
	@$(if $(ALLOCATOR),LD_PRELOAD=$(ALLOCATOR)) $(PYTEST)

acceptance: .venv/dev.stamp .venv-spark/spark.stamp .venv-s3/s3.stamp
	@command -v soffice >/dev/null || (echo "needs Debian's libreoffice-calc; .ci/run acceptance installs it"; exit 1)
	@THOROUGH=1 $(PYTEST) -m 'acceptance or thorough or hypothesis'

coverage: .venv/dev.stamp
	@$(PYTEST) --cov --cov-report=term

check: .venv/dev.stamp
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@.venv/bin/python tools/prose.py

shape: .venv/dev.stamp
	@.venv/bin/python tools/shape.py

bench: .venv/dev.stamp
	@for part in $(BENCH); do echo "== $$part"; .venv/bin/python -m benchmarks.$$part || exit 1; done

torture: .venv/dev.stamp
	@.venv/bin/python -m benchmarks.torture

docs: .venv/dev.stamp
	@.venv/bin/python tools/reference.py

screens: .venv/dev.stamp
	@.venv/bin/python tools/screens.py

pictures: .venv/dev.stamp
	@.venv/bin/python tools/pictures.py

lock:
	@tools/lock
