#!/usr/bin/env bash
# Prints the Python that has Covia's client, for the one test that uses it. The client comes by pip into the cache folder.
set -euo pipefail

CLIENT=0.9.11
folder="${XDG_CACHE_HOME:-$HOME/.cache}/venue-files/covia-$CLIENT"
python="$folder/bin/python"
if ! "$python" -c 'import covia' 2>/dev/null; then
  python3 -m venv "$folder" >&2
  timeout 200 "$python" -m pip install --quiet "covia==$CLIENT" >&2
fi
"$python" -c 'import covia'
echo "$python"
