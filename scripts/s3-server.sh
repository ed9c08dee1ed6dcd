#!/usr/bin/env bash
# Runs a command with an S3 server to test against: the one that S3_TEST_ENDPOINT, S3_TEST_BUCKET, AWS_ACCESS_KEY_ID and
# AWS_SECRET_ACCESS_KEY name, or else versitygw, built from the Go module proxy and started on a folder that is thrown away.
set -euo pipefail

if [ -n "${S3_TEST_ENDPOINT:-}" ]; then exec "$@"; fi

VERSION=v1.8.0
go=$(command -v go || echo /usr/local/go/bin/go)
if [ ! -x "$go" ]; then
  echo "Neither S3_TEST_ENDPOINT nor Go to build an S3 server with" >&2
  exit 69
fi
bin="${XDG_CACHE_HOME:-$HOME/.cache}/venue-files/versitygw-$VERSION"
if [ ! -x "$bin/versitygw" ]; then
  mkdir -p "$bin"
  GOBIN="$bin" "$go" install "github.com/versity/versitygw/cmd/versitygw@$VERSION"
fi

data=$(mktemp -d)
port=$(node -e 'const s=require("node:net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
mkdir -p "$data/buckets/drives" "$data/beside"
export AWS_ACCESS_KEY_ID=testkey AWS_SECRET_ACCESS_KEY=testsecret AWS_REGION=us-east-1
export S3_TEST_ENDPOINT="http://127.0.0.1:$port" S3_TEST_BUCKET=drives
ROOT_ACCESS_KEY=$AWS_ACCESS_KEY_ID ROOT_SECRET_KEY=$AWS_SECRET_ACCESS_KEY \
  "$bin/versitygw" --port "127.0.0.1:$port" --quiet posix --sidecar "$data/beside" "$data/buckets" >"$data.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$data" "$data.log"' EXIT
for _ in $(seq 100); do
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
  sleep 0.1
done
"$@"
