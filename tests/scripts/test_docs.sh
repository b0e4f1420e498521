#!/usr/bin/env bash
# Doxygen reads the headers without a warning, and what it makes of them has every function that the library exports.
set -euo pipefail
source_dir=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

headers=$(cd "$source_dir/include" && find calque -name '*.h')
for header in $headers; do
  grep -q "^| $header | " "$source_dir/docs/api.md" || fail "docs/api.md does not list $header"
  [ "$(head -c 10 "$source_dir/include/$header")" = '/** @file ' ] || fail "$header does not begin with '/** @file '"
  case $header in calque/calque.h | calque/extra/* | calque/lab/*) continue ;; esac
  grep -qxF "#include \"$header\"" "$source_dir/include/calque/calque.h" || fail "calque.h does not include $header"
done

command -v doxygen >/dev/null || { echo "skipped: no doxygen (scripts/install-dependencies --docs installs it)"; exit 0; }
"$source_dir/scripts/make-docs" "$work/docs" || fail "make-docs"
while read -r name; do
  case $name in cq_group_*) continue ;; esac # data, from a macro
  [ -s "$work/docs/man/man3/$name.3" ] || fail "no man page $name(3)"
done <"$source_dir/tests/golden/symbols.txt"
for header in $headers; do
  page=${header/extra\//}
  grep -qF "#include <$header>" "$work/docs/man/man3/${page//\//_}.3" || fail "$header has no man page"
  grep -q "href=.*>$header<" "$work/docs/html/index.html" || fail "$header is not on the main page"
done
grep -q 'class="fragment"' "$work/docs/html/encoder_8h.html" || fail "the usage of encoder.h is not code"
grep -q '<dt>Errors</dt>' "$work/docs/html/encoder_8h.html" || fail "the errors of encoder.h are not a section"
echo passed
