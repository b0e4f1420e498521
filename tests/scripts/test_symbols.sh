#!/usr/bin/env bash
# The shared library exports what tests/golden/symbols.txt lists, and nothing else: a function that goes or comes is a change
# of the ABI, to be made on purpose. UPDATE=1 writes the list anew.
set -euo pipefail
library=$(dirname "$1")/src/libcalque.so
list=$2/tests/golden/symbols.txt
[ -f "$library" ] || { echo "FAILED: no $library" >&2; exit 1; }

found=$(nm -D --defined-only "$library" | awk '{ print $3 }' | LC_ALL=C sort)
if [ "${UPDATE:-}" = 1 ]; then echo "$found" >"$list"; exit 0; fi
stray=$(grep -v '^cq_' <<<"$found" || true)
[ -z "$stray" ] || { echo "FAILED: exported, and not calque's: $stray" >&2; exit 1; }
diff <(cat "$list") <(echo "$found") >&2 || {
  echo "FAILED: the exported functions are not those of $list ('<': only there, '>': only in the library)." >&2
  echo "If that is meant: UPDATE=1 bash $0 $1 $2, and a line in CHANGELOG.md" >&2
  exit 1
}

# The SONAME has the minor version while the major one is 0.
version=$(sed -n 's/^#define CQ_VERSION_\(MAJOR\|MINOR\) //p' "$2/include/calque/version.h" | paste -sd .)
readelf -d "$library" | grep -qF "[libcalque.so.$version]" || { echo "FAILED: the SONAME is not libcalque.so.$version" >&2; exit 1; }
