# A sample of single failed allocations in whole commands. All of them: scripts/fail-allocations.
. "$(dirname "$0")/../cli/common.sh"
is_sanitized && echo "skipped: a sanitizer has a malloc of its own" && exit
"$SOURCE/scripts/fail-allocations" --sample "${SAMPLE:-10}" --seed "${SEED:-1}" "$(dirname "$PROGRAM")" || exit 1

# Memory that runs out and stays away: a directory that is being written is removed all the same.
cc -O1 -shared -fPIC -o fail_malloc.so "$SOURCE/tests/faults/fail_malloc.c" || exit 1
gzip -dc "$SOURCE/sample/train/en-de.tsv.gz" | head -n 50 >pairs.tsv
new="model new --from $SOURCE/sample/teacher --text pairs.tsv --vocabulary words --vocab-size 50 student"
export FAIL_EXCEPT=libicu=20:libsentencepiece:ld-linux
FAIL_COUNT=$tmp/count LD_PRELOAD=$tmp/fail_malloc.so "$PROGRAM" $new 2>stderr || fail "no model"
rm -r student
for ((at = $(cat count) - 10; at > $(cat count) * 3 / 4; at -= 40)); do
  last="calque $new, without memory from allocation $at"
  FAIL_FROM=$at LD_PRELOAD=$tmp/fail_malloc.so "$PROGRAM" $new 2>stderr
  [ $? -eq 1 ] || fail "exit code"
  absent student
done
finish
