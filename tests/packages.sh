#!/usr/bin/env bash
# Makes sure that the slow tests find a real `prometheus` and `promtool`; installs Debian's package where it may.
set -euo pipefail
if command -v prometheus >/dev/null && command -v promtool >/dev/null; then exit 0; fi
if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
  echo "packages: the slow tests need 'prometheus' and 'promtool' on PATH. Install them, on Debian or Ubuntu with:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends prometheus" >&2
  echo "  and stop the service that this starts: sudo systemctl disable --now prometheus" >&2
  exit 1
fi

# The tests start their own Prometheus on free ports; the package's service must not start at all. Exit status 101 of
# policy-rc.d means "not allowed" to Debian's installer. One that the machine already has is left as it is.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
echo "packages: installing Debian's prometheus"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends prometheus >/dev/null
if command -v systemctl >/dev/null; then systemctl stop prometheus 2>/dev/null || true; fi
