#!/usr/bin/env bash
# Runs core, surfaces and what uses native libraries on the other supported versions of Node. Their binaries come as packages from the npm registry and
# are kept in the cache folder. A version that cannot be had is skipped, with its reason.
set -uo pipefail
cd "$(dirname "$0")/.."

VERSIONS=(20.19 22 24)
SUITES=(test/jail/native test/jail/walk/beneath test/drive/store/embedded test/dist test/core test/surfaces/http test/surfaces/mcp)
# They depend on the engine alone, which all versions of one line share, so that npm test has shown them for its line.
BY_ENGINE=(test/path test/schema test/dispatch test/ops)

line=$(node -p 'process.versions.node.split(".")[0]')
platform=$(node -p 'process.platform + "-" + process.arch')
cache="${XDG_CACHE_HOME:-$HOME/.cache}/venue-files/node"
failed=0
# On the disk, as users are: npm test has its temporary directories in memory where it can.
export TMPDIR="${TMPDIR:-/tmp}"
for version in "${VERSIONS[@]}"; do
  suites=("${SUITES[@]}")
  if [ "${version%%.*}" != "$line" ]; then
    suites+=("${BY_ENGINE[@]}")
  elif [ "$version" != 20.19 ]; then
    echo "Skipped: Node $version, which npm test runs on here"
    continue
  fi
  folder="$cache/$version"
  node="$folder/node_modules/node-$platform/bin/node"
  if [ ! -x "$node" ] && ! { mkdir -p "$folder" && npm install --silent --no-save --ignore-scripts --prefix "$folder" "node-$platform@$version"; }; then
    echo "Skipped: Node $version, whose binary for $platform cannot be had from the npm registry" >&2
    continue
  fi
  echo "Node $("$node" --version)"
  PATH="$(dirname "$node"):$PATH" "$node" --experimental-vm-modules node_modules/jest/bin/jest.js "${suites[@]}" || failed=1
done
exit "$failed"
