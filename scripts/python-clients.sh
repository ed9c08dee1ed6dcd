#!/usr/bin/env bash
# Prints the Python that has Covia's client and the official one of MCP, for the tests that use them. They come by pip into the cache folder.
set -euo pipefail

COVIA=0.9.11
MCP=2.3.0
folder="${XDG_CACHE_HOME:-$HOME/.cache}/venue-files/python-clients-$COVIA-$MCP"
python="$folder/bin/python"
if ! "$python" -c 'import covia, mcp' 2>/dev/null; then
  python3 -m venv "$folder" >&2
  timeout 200 "$python" -m pip install --quiet "covia==$COVIA" "mcp==$MCP" >&2
fi
"$python" -c 'import covia, mcp'
echo "$python"
