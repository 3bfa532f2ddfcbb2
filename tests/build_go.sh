#!/usr/bin/env bash
# Builds the Go program tests/NAME into build/NAME, once for each content of its sources: a stamp beside it holds their
# hash, since file times change with every checkout. usage: tests/build_go.sh NAME [LDFLAGS]
set -euo pipefail
name=$1 ldflags=${2:-}
cd "$(dirname "$0")/.."
mkdir -p build
target=$PWD/build/$name stamp=build/.$name.sha256
sources=$(cd "tests/$name" && find . -type f \( -name '*.go' -o -name go.mod -o -name go.sum \) -print0 | LC_ALL=C sort -z |
  xargs -0 sha256sum)
hash=$(printf '%s\n%s\n' "$ldflags" "$sources" | sha256sum)
if [[ -x $target && -f $stamp && $(<"$stamp") == "$hash" ]]; then exit 0; fi

if ! command -v go >/dev/null; then
  echo "build/$name: Go is missing. The slow tests build their own Kubernetes control plane and HPA from source:" >&2
  echo "  install Go $(sed -n 's/^go //p' "tests/$name/go.mod") or newer (or an older one with GOTOOLCHAIN=auto) and put it on PATH." >&2
  echo "  'make check' and 'make demo' need no Go." >&2
  exit 1
fi
echo "build/$name: building (5 minutes with an empty Go cache, 15 seconds with a full one)"
# -buildvcs=false: a stamp of the commit would make each commit another binary. nice: the fast tests run meanwhile.
(cd "tests/$name" && nice -n 5 go build -buildvcs=false -ldflags="-s -w $ldflags" -o "$target.new" .)
mv "$target.new" "$target"
printf '%s\n' "$hash" >"$stamp"
