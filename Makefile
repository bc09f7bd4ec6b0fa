.PHONY: help setup demo test lint format lock bench clean
.DEFAULT_GOAL := help

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: ## Make .venv: locked dependencies, the native extension, both packages
	@scripts/setup

demo: setup ## Three weeks of retraining on real pictures, in ./demo (two to four minutes)
	@.venv/bin/overnight demo

test: lint ## Everything that is checked: lint, types, tests with coverage (about 6 minutes)
	@rm -f .coverage .coverage.*
	@.venv/bin/coverage run -m pytest $(PYTEST_ARGS)
	@.venv/bin/coverage combine --quiet && .venv/bin/coverage report | grep TOTAL

lint: setup ## Formatting, ruff, mypy --strict, clang-format, warnings as errors
	@.venv/bin/ruff format --check --quiet . && .venv/bin/ruff check --quiet .
	@.venv/bin/mypy
	@scripts/lint-native

format: setup ## Format the Python and C++ sources
	@.venv/bin/ruff format . && .venv/bin/ruff check --fix .
	@.venv/bin/clang-format -i trainer/csrc/*.cpp trainer/csrc/*.hpp

lock: setup ## Resolve the dependencies again into requirements/lock.txt
	@scripts/lock

clean: ## Remove what was built; keeps data and downloads
	@rm -rf .venv build trainer/build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
