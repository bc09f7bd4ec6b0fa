#!/usr/bin/env bash
# Write the stacks of the environment file $1 into cdktf.out; of the locked dependencies only what that takes.
set -euo pipefail
config=${1:?usage: cloudbuild/synthesize.sh CONFIG}
python3 -m venv .venv
.venv/bin/python -m pip --disable-pip-version-check install --quiet \
  --constraint requirements/lock.txt --constraint requirements/infra.txt \
  cdktf cdktf-cdktf-provider-google pydantic ruamel.yaml
.venv/bin/python -m infra --config "$config" --output cdktf.out
