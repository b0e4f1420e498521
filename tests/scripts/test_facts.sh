#!/usr/bin/env bash
# What documents list is there: the commands in docs/README.md are those of `calque --help`, and ARCHITECTURE.md names each
# folder of src.
#
#   bash tests/scripts/test_facts.sh PROGRAM SOURCE_DIR
set -euo pipefail
program=$1
cd "$2"
failed=0
fail() { echo "FAILED: $*" >&2; failed=1; }

commands=$("$program" --help | sed -nE 's/^  ([a-z][a-z-]*)  .*/\1/p' | sort -u)
[ "$(wc -w <<<"$commands")" -gt 10 ] || fail "only these commands in --help: $commands"
documented=$(sed -nE 's/^\|(.*)\|.*\|$/\1/p' docs/README.md | grep -oE '`calque [a-z-]+' | cut -d ' ' -f 2 | sort -u)
difference=$(diff <(echo "$commands") <(echo "$documented")) || fail "commands of --help (<) and of docs/README.md (>):"$'\n'"$difference"

for folder in src/*/; do
  folder=$(basename "$folder")
  grep -qE "\b$folder\b" ARCHITECTURE.md || fail "ARCHITECTURE.md does not name src/$folder"
done
exit $failed
