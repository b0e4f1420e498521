#!/bin/bash
# Compares the pairs that `calque data convert` reads from catalogs with those of polib and translate-toolkit.
#
#   bench/catalogs.sh WORK DIR...    DIR: sources of gettext, translate-toolkit, or Qt's tools, with their tests
#
# Makes a Python environment in WORK. The table goes to standard output, each difference to WORK/differences.txt.
set -euo pipefail
[ $# -ge 2 ] || { sed -n 2,6p "$0" >&2; exit 2; }
work=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
[ -x "$work/python/bin/python" ] || python3 -m venv "$work/python"
"$work/python/bin/python" -c 'import polib, translate' 2>/dev/null ||
  "$work/python/bin/pip" install -q polib==1.2.0 translate-toolkit==3.20.4
"$work/python/bin/python" "$root/bench/peers/catalogs.py" "${CALQUE:-$root/build/release/calque}" "$@" 2>"$work/differences.txt"
