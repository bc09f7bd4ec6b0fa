#!/usr/bin/env bash
# One part of an image's build; images.yaml says in which order, and builds. What is made stands in build/images/NAME.
# usage: cloudbuild/image.sh wheels|test|save|inspect|sbom|digest NAME
set -euo pipefail
usage="usage: cloudbuild/image.sh wheels|test|save|inspect|sbom|digest NAME"
part=${1:?$usage} name=${2:?$usage}
folder=build/images/$name
mkdir -p "$folder"

overnight() {
  if [ -x .venv/bin/python ]; then
    PYTHONPATH=build/tools .venv/bin/python -m overnight "$@"
  else
    PYTHONPATH=build/tools command overnight "$@"
  fi
}

# Python as a job runs it, and stricter: nothing can be written but /tmp, nothing reached.
inside() {
  docker run --rm --interactive --network none --read-only --tmpfs /tmp --cap-drop all \
    --security-opt no-new-privileges --entrypoint python3 "$_REPOSITORY/$name:$COMMIT_SHA" "$@"
}

case "$part" in
  # Fetched and checked here, so that the build itself needs no network.
  wheels)
    python3 -m pip --disable-pip-version-check download --quiet --only-binary :all: --require-hashes --no-deps \
      --dest "build/wheelhouse/$name" --requirement "images/$name/requirements.txt" --requirement "images/$name/build.txt"
    ;;
  # Each image on its own base; ours check more than that they start.
  test)
    [[ $name != trainer-* ]] || inside -m trainer.selfcheck </dev/null
    [ ! -f "images/$name/selfcheck.py" ] || inside - <"images/$name/selfcheck.py"
    ;;
  save) docker save --output "$folder/image.tar" "$_REPOSITORY/$name:$COMMIT_SHA" ;;
  inspect) overnight image inspect "$folder/image.tar" --budget "images/$name/budget.yaml" ;;
  sbom) overnight image sbom "$folder/image.tar" --output "$folder/sbom.spdx.json" ;;
  # A registry alone says what an image's digest is. The one of caches is asked, so that the release can be written
  # before anything is released; a manifest names no repository, so the digest is the same in the other.
  digest)
    docker push "$_CACHE_REPOSITORY/$name:$COMMIT_SHA"
    reference=$(overnight image resolve "$_CACHE_REPOSITORY/$name:$COMMIT_SHA")
    echo "$_REPOSITORY/$name@${reference##*@}" >"$folder/reference"
    ;;
  *)
    echo "$usage" >&2
    exit 2
    ;;
esac
