#!/usr/bin/env bash
# Makes sure that the slow tests find a real `prometheus`, `promtool` and `chromium`; installs Debian's packages where it
# may. An old kubectl, Debian 12's 1.20, is only unpacked below build/, beside whatever kubectl the machine has.
set -euo pipefail
cd "$(dirname "$0")/.."
old_kubectl=build/kubernetes-client/usr/bin/kubectl
if [[ ! -x $old_kubectl ]]; then
  if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "packages: the slow tests need an old kubectl (1.20 to 1.25) as $old_kubectl; put one there" >&2
    exit 1
  fi
  mkdir -p build/kubernetes-client
  echo "packages: unpacking Debian's kubernetes-client"
  if ((EUID == 0)); then apt-get update -qq; fi
  (cd build/kubernetes-client && apt-get download -qq kubernetes-client && dpkg-deb -x kubernetes-client_*.deb . &&
    rm kubernetes-client_*.deb)
fi
missing=()
if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then missing+=(prometheus); fi
if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then missing+=(chromium); fi
if ((${#missing[@]} == 0)); then exit 0; fi
if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
  echo "packages: the slow tests need 'prometheus', 'promtool' and 'chromium' on PATH; on Debian or Ubuntu install:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
  echo "  and stop the service that Prometheus starts: sudo systemctl disable --now prometheus" >&2
  exit 1
fi

# The tests start their own Prometheus on free ports; the package's service must not start at all. Exit status 101 of
# policy-rc.d means "not allowed" to Debian's installer. One that the machine already has is left as it is.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
echo "packages: installing Debian's ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
if [[ " ${missing[*]} " == *" prometheus "* ]] && command -v systemctl >/dev/null; then systemctl stop prometheus 2>/dev/null || true; fi
