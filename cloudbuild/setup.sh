#!/usr/bin/env bash
# What the steps of images.yaml need beside docker: the command `overnight`, unless it is here, and the scanner for SBOMs.
set -euo pipefail
pip=(python3 -m pip --disable-pip-version-check)
if ! command -v overnight >/dev/null; then
  python3 -m venv .venv
  pip=(.venv/bin/python -m pip --disable-pip-version-check)
  # Of the locked dependencies only what these commands import.
  .venv/bin/python -m pip --disable-pip-version-check install --quiet --constraint requirements/lock.txt \
    google-cloud-artifact-registry google-cloud-storage pydantic requests rich ruamel.yaml typer
fi
"${pip[@]}" install --quiet --require-hashes --no-deps --target build/tools --upgrade --requirement requirements/images.txt
