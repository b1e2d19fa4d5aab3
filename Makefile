# make demo      the whole way once: spec, package, server, calls
# make demo-shared   eight processes that share one cache in Valkey or Redis, and one upstream that counts
# make quick     the tests of the folders that changed, in seconds: make quick, or make quick SINCE=main
# make test      lint, types, tests, and `restencil check` on the packages that are checked in
# make nightly   the tests that take minutes, examples that no one tried before, and all over both HTTP libraries
# make bench     figures against peers
# make docs      the site, in build/site: open build/site/index.html
# make docs-test the blocks of the documentation that take longer, links that lead outside, and the site
# make corpus    every OpenAPI document of a folder through the whole, and the figures: make corpus DIR=../documents
# make servers   servers that others wrote, for the tests in tests/servers; those written in Python come by themselves
# make clean     removes all of it, the virtual environment too
#
# PYTHON=/path/to/python chooses the interpreter; otherwise the first Python >= 3.11 on the PATH is taken.

PY := .venv/bin/python
# Three workers on two cores, since many tests wait: each takes one file after another, in the order of tests/conftest.py.
TESTS := $(PY) -m pytest -n 3 --dist loadfile --no-loadscope-reorder
NIGHT := $(TESTS) --hypothesis-profile explore -m "slow or not slow" --shuffle $(shell date +%Y%m%d) \
	--collect-garbage -W error::pytest.PytestUnraisableExceptionWarning
export PYTHON
# Compiled once and kept, whatever is usual here: each of hundreds of processes would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# pyright ships in its wheel; it need not look for a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: demo demo-shared quick test still lint types mypy pyright check tests nightly bench docs docs-test corpus servers servers-python clean setup setup-demo setup-docs
.DEFAULT_GOAL := test

setup:
	@.ci/venv dev

setup-demo:
	@.ci/venv mock

setup-docs:
	@.ci/venv docs

demo: setup-demo
	@$(PY) tests/demo/run.py

demo-shared: setup
	@$(PY) tests/demo/shared.py

# The loop of daily work: ruff, and the tests of what changed.
quick: setup
	@$(PY) -m ruff check -q
	@$(PY) -m tests.quick $(SINCE)

# What looks at files alone takes one core at a time, so two of them run beside each other; the tests take both cores.
test: setup
	@$(MAKE) --no-print-directory -j 2 still
	@$(MAKE) --no-print-directory tests

still: pyright mypy lint check

lint: setup
	$(PY) -m ruff check
	$(PY) -m black --check .
	$(dir $(PY))lint-imports --no-logo

check: setup
	$(PY) -m restencil_generator check

types: mypy pyright

mypy: setup
	$(PY) -m mypy

pyright: setup
	$(PY) -m pyright

# Interrupts at random moments are tested in a process of their own, where they hit nothing that other tests left behind.
ALONE := tests/storage/test_interrupted_commits.py

tests: setup servers-python
	$(TESTS) -q --ignore=$(ALONE)
	$(PY) -m pytest -q -n 0 $(ALONE)

# All tests, slow ones too: those over HTTP with both libraries, and those of the runtime over a storage once more;
# then random programs, other ones each night, and processes that share a cache and are disturbed.
nightly: setup servers
	$(NIGHT) --http=both tests/runtime tests/conformance tests/servers
	$(NIGHT) --ignore=tests/runtime --ignore=tests/conformance --ignore=tests/servers
	$(TESTS) -p tests.over_storage tests/runtime
	$(PY) -m tests.freshness.run --api all --mode all --programs 300 --seed $(shell date +%Y%m%d) --processes 2
	$(PY) -m tests.freshness.processes --minutes 10 --seed $(shell date +%Y%m%d)

bench: setup
	$(PY) tests/benchmarks/run.py

docs: setup-docs
	@rm -rf build/site build/doctrees # what a build that was interrupted left is no site
	@$(PY) -m sphinx -c docs -d build/doctrees -b html -W --keep-going -q . build/site
	@echo build/site/index.html

docs-test: setup docs
	$(PY) -m pytest -n 0 -q -m "slow or not slow" tests/test_docs.py

corpus: setup
	PYTHONPATH=. $(PY) tests/openapi/corpus.py $(DIR) $(if $(TABLE),--table $(TABLE))

servers: setup
	@.ci/servers python
	@.ci/servers node

# Without a package index, or on a system where one of them does not install, the tests that need them are skipped.
servers-python: setup
	@.ci/servers python || [ -z "$$CI" ]

clean:
	rm -rf .venv .servers build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
