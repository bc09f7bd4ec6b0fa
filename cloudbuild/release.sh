#!/usr/bin/env bash
# Write down what this commit was built into: each image's digest and the list of what it holds.
set -euo pipefail
images=()
for file in build/images/*/reference; do
  folder=${file%/reference} name=$(basename "${file%/reference}")
  images+=(--image "$name=$(cat "$file")" --sbom "$name=$folder/sbom.spdx.json")
done
python=(overnight)
[ ! -x .venv/bin/python ] || python=(.venv/bin/python -m overnight)
"${python[@]}" image release --commit "$COMMIT_SHA" --source "$_SOURCE" --build-id "$BUILD_ID" \
  --releases "$_RELEASES" "${images[@]}"
