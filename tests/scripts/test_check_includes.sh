#!/usr/bin/env bash
# scripts/check-includes passes the tree as it is, and finds an include against the direction when one is put in.
set -euo pipefail
source_dir=$2
check=$source_dir/scripts/check-includes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

"$check" "$source_dir" || fail "the tree itself does not pass"

mkdir -p "$work/src"
cp -r "$source_dir"/src/. "$work/src"
"$check" "$work" >/dev/null || fail "a copy of the tree does not pass"

# expect FILE TEXT MESSAGE: with TEXT as the content of FILE the check must fail and say MESSAGE.
expect() {
  local status=0 output
  printf '%b' "$2" >"$work/$1"
  output=$("$check" "$work" 2>&1) || status=$?
  rm "$work/$1"
  [ $status -eq 1 ] || fail "$1 with '$2': exit status $status"
  grep -qF "$3" <<<"$output" || fail "$1 with '$2': expected '$3', got '$output'"
}

expect src/base/bad.c '/* a comment */\n\n#include "format/json.h"\n' \
  'src/base/bad.c:3: src/base includes format/json.h, but does not depend on src/format'
expect src/tensor/bad.h '#  include "nn/parameter.h"\n' 'src/tensor/bad.h:1: src/tensor includes nn/parameter.h'
expect src/tensor/ref/bad.c '#include "model/module.h"\n' 'src/tensor/ref/bad.c:1: src/tensor includes model/module.h'
expect src/eval/bad.c '#include "model/module.h"\n' 'src/eval includes model/module.h, but does not depend on src/model'
expect src/token/bad.cc '#include <tensor/kernels.h>\n' 'src/token includes tensor/kernels.h'
expect src/cli/bad.c '#include "base/map.h"\n' 'src/cli includes base/map.h, may include public and stateless headers only'
expect src/nn/bad.c '#include "../model/module.h"\n' 'name the folder instead of a relative path'
expect src/nn/bad.c '#include "layer.h"\n' 'expected "FOLDER/layer.h"'
expect src/nn/bad.c '#include "nowhere/layer.h"\n' 'no folder src/nowhere'

# What is allowed stays allowed.
printf '#include "base/error.h"\n#include "calque/status.h"\n#include <stdio.h>\n' >"$work/src/model/good.c"
"$check" "$work" >/dev/null || fail "an include through two folders is refused"

# A check that sees nothing must not pass.
mkdir -p "$work/empty"
if "$check" "$work/empty" 2>/dev/null; then fail "an empty tree passes"; fi
echo passed
