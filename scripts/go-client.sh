#!/usr/bin/env bash
# Prints the program that one test runs: calls of the official Go client of MCP. What it is built from comes from the Go module proxy.
set -euo pipefail
cd "$(dirname "$0")/.."

go=$(command -v go || echo /usr/local/go/bin/go)
program="${XDG_CACHE_HOME:-$HOME/.cache}/venue-files/mcp-go-client"
timeout 300 "$go" build -C test/clients/go -o "$program" . >&2
echo "$program"
