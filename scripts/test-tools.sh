#!/usr/bin/env bash
# Runs the suites that need more than Node: bubblewrap and its network tools, a browser, clients of WebDAV, proxies, a real S3
# server, the conformance suite of MCP, clients in Python and Go, generators of OpenAPI clients. What is missing is skipped, with its reason. SKIP_S3=<reason>
# leaves out the S3 server, which takes minutes to build the first time. Suites that fail are run once more, and it is said which: programs of others keep a pace of their own.
set -euo pipefail
cd "$(dirname "$0")/.."

with_s3=(bash scripts/s3-server.sh)
if [ -n "${SKIP_S3:-}" ]; then
  echo "Skipped: the suites of a real S3 server: $SKIP_S3" >&2
  with_s3=()
elif ! bash scripts/s3-server.sh true; then
  echo "Skipped: the suites of a real S3 server, which cannot be had here" >&2
  with_s3=()
fi

VENUE_FILES_CONFORMANCE=$(bash scripts/conformance-suite.sh) || VENUE_FILES_CONFORMANCE=
export VENUE_FILES_CONFORMANCE
VENUE_FILES_PYTHON=$(bash scripts/python-clients.sh) || VENUE_FILES_PYTHON=
export VENUE_FILES_PYTHON
VENUE_FILES_GO_CLIENT=$(bash scripts/go-client.sh) || VENUE_FILES_GO_CLIENT=
export VENUE_FILES_GO_CLIENT
VENUE_FILES_GENERATORS=$(bash scripts/openapi-generators.sh) || VENUE_FILES_GENERATORS=
export VENUE_FILES_GENERATORS

report=$(mktemp)
trap 'rm -f "$report"' EXIT
# A suite that fails may leave something running; the result is then known all the same.
jest=("${with_s3[@]}" node --experimental-vm-modules node_modules/jest/bin/jest.js --config jest.tools.config.js --forceExit)
if "${jest[@]}" --json --outputFile="$report" "$@" >/dev/null; then exit 0; fi

failed=$(node -e '
  const { testResults } = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
  for (const { name, status } of testResults) if (status === "failed") console.log(name);
' "$report")
[ -n "$failed" ] || exit 1
echo "Failed, and run once more:" >&2
echo "$failed" >&2
mapfile -t suites <<<"$failed"
"${jest[@]}" --runTestsByPath "${suites[@]}"
