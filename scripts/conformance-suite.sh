#!/usr/bin/env bash
# Prints the command line of the official conformance suite of MCP, which needs Node 22. Both come from the npm registry into the
# cache folder, since nothing but one test uses them.
set -euo pipefail

SUITE=0.2.0-alpha.12
NODE=22
platform=$(node -p 'process.platform + "-" + process.arch')
folder="${XDG_CACHE_HOME:-$HOME/.cache}/venue-files/conformance-$SUITE"
node="$folder/node_modules/node-$platform/bin/node"
suite="$folder/node_modules/@modelcontextprotocol/conformance/dist/index.js"
if [ ! -x "$node" ] || [ ! -f "$suite" ]; then
  mkdir -p "$folder"
  timeout 300 npm install --silent --no-save --ignore-scripts --prefix "$folder" \
    "@modelcontextprotocol/conformance@$SUITE" "node-$platform@$NODE" >&2
fi
"$node" --version >/dev/null
echo "$node $suite"
