#!/usr/bin/env bash
# Runs the suites that need more than Node: bubblewrap and its network tools, a real S3 server. What is missing is skipped,
# with its reason. SKIP_S3=<reason> leaves out the S3 server, which takes minutes to build the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

# A suite that fails may leave something running; the result is then known all the same.
jest=(node --experimental-vm-modules node_modules/jest/bin/jest.js --config jest.tools.config.js --forceExit "$@")
if [ -n "${SKIP_S3:-}" ]; then
  echo "Skipped: the suites of a real S3 server: $SKIP_S3" >&2
elif bash scripts/s3-server.sh true; then
  exec bash scripts/s3-server.sh "${jest[@]}"
else
  echo "Skipped: the suites of a real S3 server, which cannot be had here" >&2
fi
exec "${jest[@]}"
