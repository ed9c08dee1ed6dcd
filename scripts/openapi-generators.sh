#!/usr/bin/env bash
# Prints the folder that holds the generators of clients that one test runs: js/ with those of npm, py/ with that of PyPI. They come
# from the registries into the cache folder, since nothing else uses them. One that cannot be had is left out.
set -euo pipefail

HEY=0.95.0
TYPES=7.13.0
FETCH=0.17.0
PYTHON=0.29.1
folder="${XDG_CACHE_HOME:-$HOME/.cache}/venue-files/openapi-generators-$HEY-$TYPES-$FETCH-$PYTHON"
mkdir -p "$folder"
if [ ! -f "$folder/js/complete" ]; then
  timeout 300 npm install --silent --no-save --ignore-scripts --prefix "$folder/js" \
    "@hey-api/openapi-ts@$HEY" "openapi-typescript@$TYPES" "openapi-fetch@$FETCH" typescript@5.9.3 >&2 && touch "$folder/js/complete" || true
fi
if [ ! -f "$folder/py/complete" ]; then
  { python3 -m venv "$folder/py" && timeout 300 "$folder/py/bin/pip" install -q "openapi-python-client==$PYTHON" && touch "$folder/py/complete"; } >&2 || true
fi
echo "$folder"
