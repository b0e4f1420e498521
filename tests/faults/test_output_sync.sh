# Every output is synced before its name is put in place, and its directory afterwards.
. "$(dirname "$0")/../cli/common.sh"
is_sanitized && echo "skipped: a sanitizer's library must be loaded first" && exit
cc -O1 -shared -fPIC -o name_changes.so "$SOURCE/tests/faults/name_changes.c" || exit 1
printf 'A cat.\nA dog.\nA house.\n' >en.txt
printf 'Eine Katze.\nEin Hund.\nEin Haus.\n' >de.txt
paste en.txt de.txt >pairs.tsv

writes() { # OUTPUT ARGUMENTS...
  local output=$1
  shift
  rm -f changes
  last="calque $*"
  CHANGES=$tmp/changes LD_PRELOAD=$tmp/name_changes.so "$PROGRAM" "$@" >stdout 2>stderr || fail "it failed"
  [ -e "$output" ] || fail "no $output"
  awk -v output="$output" -v directory="$PWD" '
    $1 == "rename" && ($3 == output || $3 == directory "/" output) {
      from = $2 ~ /^\// ? $2 : directory "/" $2
      if (!(from in synced)) exit 1
      found = 1
    }
    $1 == "sync" { synced[$2] = 1; if (found && $2 == directory) after = 1 }
    END { exit !(found && after) }' changes || fail "$output is not synced"
}
writes v.jsonl encode --model "$TEACHER" -o v.jsonl en.txt
writes v.npy encode --model "$TEACHER" -o v.npy en.txt
writes m.tsv mine --model "$TEACHER" --cache cache -o m.tsv en.txt de.txt
writes c.tsv data convert --from tsv -o c.tsv pairs.tsv
writes d.tsv.gz data dedup -o d.tsv.gz pairs.tsv
finish
