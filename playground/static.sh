#!/usr/bin/env bash
# Writes the playground as files for any web server into a folder: the page, and this module
# compiled to WebAssembly.
#
#	playground/static.sh FOLDER
#
# The same sources and the same version of Go result in the same bytes.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"
GOOS=js GOARCH=wasm GOFLAGS= go build -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o "$out/retrygen.wasm" ./wasm
cp "$(go env GOROOT)/lib/wasm/wasm_exec.js" web/dist/* "$out"
rm "$out"/local.* # the page of retrygen ui
