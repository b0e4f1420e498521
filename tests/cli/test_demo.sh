# The demo keeps its promise on little text: five languages found again far above chance, answers across languages, a model
# that opens. The sample corpus is what it claims to be.
. "$(dirname "$0")/common.sh"
sample=$SOURCE/sample
unset CALQUE_SAMPLE

# ---- the corpus: as large as promised, nothing shared between the splits ----
for language in de es ru hi ar; do
  for split in train:1000 dev:100 test:200; do
    n=$(gzip -dc "$sample/${split%:*}/en-$language.tsv.gz" | grep -c "$(printf '[^\t]\t[^\t]')")
    [ "$n" -ge "${split#*:}" ] || fail "${split%:*}/en-$language has $n pairs, expected ${split#*:}"
  done
  for column in 1 2; do
    twice=$(gzip -dc "$sample"/*/en-$language.tsv.gz | cut -f $column | sort | uniq -d | head -n 3)
    [ -z "$twice" ] || fail "en-$language: sentences stand twice: $twice"
  done
  [ "$(cut -f 1,3 "$sample/sts/en-$language.tsv")" = "$(cut -f 1,3 "$sample/sts/en-en.tsv")" ] ||
    fail "sts/en-$language does not run beside en-en"
done
[ "$(du -sk "$sample/teacher" | cut -f 1)" -le 10240 ] || fail "the teacher is larger than 10 MB"

# ---- the story ----
expect 0 demo --quick --sample "$sample" --work "$tmp/work"
cp "$tmp/stdout" "$tmp/story"
# The table: language, chance, accuracy of the teacher, of the model, distance of both, similarity of both. In 120 steps, at the
# weight that the contrastive loss begins with, distances are not yet what they become.
awk '/^3\./ { on = 1 } /^4\./ { on = 0 } on' "$tmp/story" >"$tmp/after"
for language in German Spanish Russian Hindi Arabic; do
  row=$(grep "^$language " "$tmp/after") || fail "no row for $language after learning"
  echo "$row" | awk '{ exit !(NF == 8 && $2 < 1 && $4 >= 85 && $4 > $3 && $6 < 80 && $6 < $5 && $8 >= 60) }' ||
    fail "$language: $row"
done
for language in de es ru hi ar; do
  awk '/^4\./ { on = 1 } /^5\./ { on = 0 } on' "$tmp/story" | grep -q " $language  " || fail "no translation found in $language"
done
[ "$(awk '/^5\./ { on = 1 } /^Done/ { on = 0 } on' "$tmp/story" | grep -c '^    ')" -eq 10 ] || fail "expected twice five answers"
grep -qF "serve $sample/documents" "$tmp/story" || fail "no search page is offered"
grep -qF "$tmp/work/multilingual" "$tmp/story" || fail "the story does not say where the model is"

# What it left is a model: a translation is nearer than another sentence.
expect 0 similarity --model "$tmp/work/multilingual" "We will travel to Moscow next week." "На следующей неделе мы поедем в Москву."
near=$(cat "$tmp/stdout")
expect 0 similarity --model "$tmp/work/multilingual" "We will travel to Moscow next week." "Суп ещё холодный."
awk -v near="$near" -v far="$(cat "$tmp/stdout")" 'BEGIN { exit !(near > 0.6 && far < near - 0.3) }' ||
  fail "similarity near $near, far $(cat "$tmp/stdout")"

# ---- where it looks, and what it refuses ----
expect 1 demo --sample "$tmp/nowhere"
stderr_has "nowhere"
stderr_has "teacher/modules.json"
expect 1 demo --sample "$sample" --work "$tmp/story"
stderr_has "story"
expect 1 demo --quick --sample "$sample" --work "$tmp/work"
stderr_has "multilingual"
CALQUE_SAMPLE=$tmp/elsewhere expect 1 demo
stderr_has "elsewhere"
expect 2 demo --swift
finish
