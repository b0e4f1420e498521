# calque extend killed (SIGKILL) before a change of a name: --resume ends it with the same model and card, also where the
# output replaces an earlier one. POINTS moments are drawn; those at the end are always among them.
#
#   POINTS=1000 bash tests/cli/test_extend_kills.sh PROGRAM SOURCE_DIR       # every moment
. "$(dirname "$0")/common.sh"
is_sanitized && echo "skipped: a sanitizer's library must be loaded first" && exit
preload=$tmp/name_changes.so
cc -O1 -shared -fPIC -o "$preload" "$SOURCE/tests/faults/name_changes.c" || exit 1
gzip -dc "$SOURCE/sample/train/en-de.tsv.gz" | head -n 300 >pairs.tsv
run="extend $SOURCE/sample/teacher --to de=pairs.tsv --vocab-size 400 --steps 3 --batch 4 --best-by last --keep-variants --cache cache -t 1"
result() { (cd "$1" && find . -type f ! -name log.jsonl | LC_ALL=C sort | xargs sha256sum); }

expect 0 $run -o model # the cache is full afterwards
mv model whole
"$PROGRAM" model new --kind copy --from "$SOURCE/sample/teacher" earlier 2>/dev/null || fail "no copy"

# moments OPTIONS...: kills in a run with these options, each followed by --resume. before: the model that is replaced.
moments() {
  local n step at first_of_end code finished=0
  rm -rf model* && [ -z "$before" ] || cp -r "$before" model
  rm -f changes
  CHANGES=$tmp/changes LD_PRELOAD=$preload "$PROGRAM" $run "$@" -o model 2>stderr || fail "the recorded run failed"
  grep -v '^sync' changes >points
  n=$(wc -l <points) first_of_end=$(grep -n ' model$' points | tail -n 1 | cut -d : -f 1)
  step=$(((n + ${POINTS:-4} - 1) / ${POINTS:-4}))
  for ((at = 1; at <= n; at++)); do
    [ $((at % step)) -eq 0 ] || [ "$at" -eq "$n" ] || { [ "$at" -gt "$first_of_end" ] && ! sed -n "${at}p" points | grep -q '^unlink'; } || continue
    rm -rf model* && [ -z "$before" ] || cp -r "$before" model
    last="calque $run $*, killed before $(sed -n "${at}p" points)"
    (KILL_AT=$at LD_PRELOAD=$preload exec "$PROGRAM" $run "$@" -o model) >/dev/null 2>stderr &
    wait $! 2>/dev/null
    [ $? -eq 137 ] || fail "it was not killed"
    "$PROGRAM" $run --resume $([ -e model.extend/plan ] || echo "$@") -o model >/dev/null 2>stderr
    code=$?
    if [ $code -eq 1 ] && [ ! -e model.extend ] && [ -z "$*" ]; then
      stderr_has "it is finished" && finished=$((finished + 1))
    else
      [ $code -eq 0 ] || fail "exit code $code"
    fi
    [ "$(result model)" = "$(result whole)" ] || fail "another model"
    [ -z "$(find . -maxdepth 1 -name 'model.*')" ] || fail "left behind: $(echo model.*)"
  done
  echo "$n moments, every ${step}th; $finished runs were finished"
}
before='' moments
before=earlier moments --replace
finish
