.PHONY: help setup demo test infra-setup infra-test images-setup images-test images-runner-test synth plan-real fuzz lint format lock bench-input bench-input-quick clean
.DEFAULT_GOAL := help

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: ## Make .venv: locked dependencies, the native extension, both packages
	@scripts/setup

demo: setup ## Three weeks of retraining on real pictures, in ./demo (two to four minutes)
	@.venv/bin/overnight demo

test: lint ## Everything that is checked: lint, types, tests with coverage (about 10 minutes on two cores)
	@rm -f .coverage .coverage.*
	@.venv/bin/coverage run -m pytest --ignore=tests/infra --ignore=tests/terraform --ignore=tests/policies --ignore=tests/images $(PYTEST_ARGS)
	@.venv/bin/coverage combine --quiet && .venv/bin/coverage report | grep TOTAL

infra-setup: setup ## Bring what the infrastructure needs: framework, bindings, emulated provider, cdktf command
	@scripts/setup-infra

infra-test: infra-setup ## Real Terraform over all stacks against an emulated provider, policies, mutations (under 3 minutes)
	@.venv/bin/python -m pytest -n auto --maxprocesses 4 --dist loadscope tests/infra tests/terraform tests/policies $(PYTEST_ARGS)

images-setup: setup ## Bring what images take: podman, buildah, a registry, mmdebstrap
	@scripts/setup-images

images-test: images-setup ## Bases, cloudbuild/images.yaml run here, twice; run, verify, pin (under 8 minutes; needs root)
	@.venv/bin/python -m pytest -ra tests/images/test_images.py $(PYTEST_ARGS)

images-runner-test: images-setup ## The local runner of build files with real podman and small images (a minute)
	@.venv/bin/python -m pytest -ra tests/images/test_runner.py $(PYTEST_ARGS)

synth: infra-setup ## Write the stacks of CONFIG (default config/example.yaml) as Terraform JSON into cdktf.out
	@.venv/bin/python -m infra --config $(or $(CONFIG),config/example.yaml)

plan-real: infra-setup ## Plan all stacks of CONFIG against its real project, and hold the plans against the policies
	@scripts/plan-real $(or $(CONFIG),config/example.yaml)

fuzz: setup ## Fuzz the readers of JPEG and tar files for SECONDS each (default 30), with sanitizers; needs clang
	@scripts/fuzz $(SECONDS)

bench-input-quick: setup ## The input pipeline beside Pillow, simplejpeg, OpenCV and torch, in under 3 minutes; fails when a bar is missed
	@.venv/bin/python -m bench.input.run --quick

bench-input: setup ## The input pipeline beside every peer (installs 10 GB into build/bench; about an hour)
	@.venv/bin/python -m bench.input.run

lint: setup ## Formatting, ruff, mypy --strict, clang-format, warnings as errors
	@.venv/bin/ruff format --check --quiet . && .venv/bin/ruff check --quiet .
	@.venv/bin/mypy
	@scripts/lint-native

format: setup ## Format the Python and C++ sources
	@.venv/bin/ruff format . && .venv/bin/ruff check --fix .
	@.venv/bin/clang-format -i $$(find trainer/csrc -name '*.cpp' -o -name '*.hpp')

lock: setup ## Resolve the dependencies again into requirements/lock.txt
	@scripts/lock

clean: ## Remove what was built; keeps data and downloads
	@rm -rf .venv .venv-emulator infra/cli/node_modules cdktf.out build trainer/build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
