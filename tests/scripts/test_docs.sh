#!/usr/bin/env bash
# What Doxygen is given of a header is the same code, and what it makes of all has every function that the library exports.
set -euo pipefail
source_dir=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

headers=$(cd "$source_dir/include" && find calque -name '*.h')
for header in $headers; do
  header=$source_dir/include/$header
  "$source_dir/scripts/doxygen-filter" "$header" >"$work/filtered.h"
  for file in "$header" "$work/filtered.h"; do cc -std=c11 -E -P -I"$source_dir/include" "$file" >"$work/$(basename "$file").i"; done
  cmp -s "$work/$(basename "$header").i" "$work/filtered.h.i" || fail "the filter changes the code of $header"
done

# The main page is made from calque.h, which has them all.
for header in $headers; do
  case $header in calque/calque.h | calque/extra/* | calque/lab/*) continue ;; esac
  grep -qxF "#include \"$header\"" "$source_dir/include/calque/calque.h" || fail "calque.h does not include $header"
done

# Each kind of comment as Doxygen wants it.
cat >"$work/thing.h" <<'END'
/* Things, with 100 % of <care>.
 *
 *   cq_thing *thing;
 *   cq_thing_open(&thing, "x");
 *
 * Threads: any. */
#ifndef THING_H

/* --- opening --- */

/* Opens a thing.
 *   name   which one; "<x>"
 * Errors: CQ_ERR_IO. */
CQ_API int cq_thing_open(cq_thing **out, const char *name);
CQ_API void cq_thing_free(cq_thing *thing);

struct point {
  int x; /* in pixels,
            from the left */
};
/* Left alone. */

#endif
END
"$source_dir/scripts/doxygen-filter" "$work/thing.h" >"$work/out"
for line in '/** @file' 'Things, with 100 \% of \<care\>.' '@code{.c}' '@par Threads' '/** @name Opening' '@verbatim' \
  'name   which one; "<x>"' '@par Errors' '/** See cq_thing_open(). */' '  int x; /**<' 'from the left' '/* Left alone. */'; do
  grep -qxF -- "$line" "$work/out" || { cat "$work/out" >&2; fail "no line '$line'"; }
done

command -v doxygen >/dev/null || { echo "skipped: no doxygen (scripts/install-dependencies --docs installs it)"; exit 0; }
"$source_dir/scripts/make-docs" "$work/docs" || fail "make-docs"
while read -r name; do
  [ -s "$work/docs/man/man3/$name.3" ] || fail "no man page $name(3)"
done <"$source_dir/tests/golden/symbols.txt"
for header in $headers; do
  grep -qF "#include <$header>" "$work/docs/man/man3/calque_$(basename "$header").3" || fail "$header has no man page"
  grep -q "$header" "$work/docs/html/index.html" || fail "$header is not on the main page"
done
grep -q 'class="fragment"' "$work/docs/html/encoder_8h.html" || fail "the usage of encoder.h is not code"
echo passed
