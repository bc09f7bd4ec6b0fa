#!/usr/bin/env bash
# With _REDUCTION_SERVER=yes, fetch the package google-reduction-server that has the SHA-256 _REDUCTION_SERVER_SHA256
# into build/debs, from Google's apt repository (Vertex AI, "Reduce training time with Reduction Server").
set -euo pipefail
repository=${REDUCTION_SERVER_REPOSITORY:-https://packages.cloud.google.com/apt}
debs=build/debs
fail() { echo "reduction-server: $1" >&2; exit 2; }
rm -rf "$debs"
mkdir -p "$debs"
case "${_REDUCTION_SERVER:-no}" in
  no) exit 0 ;;
  yes) ;;
  *) fail "_REDUCTION_SERVER is '$_REDUCTION_SERVER'; give yes or no" ;;
esac
digest=${_REDUCTION_SERVER_SHA256:-}
[[ $digest =~ ^[0-9a-f]{64}$ ]] || fail "_REDUCTION_SERVER_SHA256 is '$digest'; give the package's SHA-256"
index=$(curl --fail --silent --show-error --location "$repository/dists/google-fast-socket/main/binary-amd64/Packages") ||
  fail "the list of packages could not be fetched"
# Paragraphs of fields: the one with our digest says where the file is.
path=$(awk -v RS= -v digest="$digest" '$0 ~ "(^|\n)Package: google-reduction-server(\n|$)" && $0 ~ "(^|\n)SHA256: " digest "(\n|$)" {
  for (i = 1; i <= split($0, lines, "\n"); i++) if (sub(/^Filename: /, "", lines[i])) print lines[i] }' <<<"$index")
[ -n "$path" ] || fail "no google-reduction-server has the SHA-256 $digest; give one of $repository"
file=$debs/$(basename "$path")
curl --fail --silent --show-error --location --output "$file" "$repository/$path" || fail "$path could not be fetched"
echo "$digest  $file" | sha256sum --check --status || fail "$path is not the file that was listed"
