# calque extend: new languages by one command; what it chooses, and that a stopped run resumes and ends with the same model.
. "$(dirname "$0")/common.sh"

sample=$SOURCE/sample
for l in de ru; do gzip -dc "$sample/train/en-$l.tsv.gz" | head -n 1500 >$l.tsv; done
run="extend $sample/teacher --to de=de.tsv --to ru=ru.tsv --cache cache"

expect 0 $run --time 8s --output timed
for choice in "held out of de: 75 of 1500 sources (--dev)" "the model's layers under a new vocabulary (--kind)" \
  "44000 pieces at most (--vocab-size)" "the text makes a vocabulary of" "rates: 0.0003, embeddings 0.001 (--lr" \
  "batches of 64 pairs (--batch), sentences of at most 250 characters" "weight decay 0.01" "steps: "; do
  stderr_has "$choice"
done
grep -q '^steps: [0-9]*, .* epochs (--steps): \(what fits into the time\|more would not help\|the fewest\)' stderr ||
  fail "no choice of steps"
sed -n 's/^steps: \([0-9]*\), .*what fits into the time.* a step takes \([0-9.]*\) s.*/\1 \2/p' stderr >chosen
# Empty on a machine too slow for twenty steps in that time. Seconds are told to a thousandth.
awk '$1 * ($2 - 0.0005) > 8 { exit 1 }' chosen || fail "steps that take more time: $(cat chosen)"
for told in '^- de$' '^- ru$' 'name: Mean Accuracy' 'multilingual knowledge distillation' '[0-9] steps of 64 pairs'; do
  grep -q -- "$told" timed/README.md || fail "the model card lacks $told"
done
expect 0 model check timed timed
[ ! -e timed.extend ] && [ ! -e timed.work ] || fail "work in progress was left behind"
expect 1 $run --time 8s --output timed
stderr_has "already exists (--replace overwrites it)"

# What the output's place has wrong is said before anything is done; a slash at its end changes nothing.
mkdir full && touch full/file
expect 1 $run --steps 1 --output full --replace
stderr_has "full: already exists, and holds no model"
expect 1 $run --steps 1 --output de.tsv --replace
stderr_has "de.tsv: is a file, expected a directory or nothing"
[ ! -e full.extend ] && [ ! -e de.tsv.extend ] || fail "work was begun for an output that cannot be"
expect 0 $run --steps 30 --output slash/
[ -e slash/modules.json ] && [ ! -e slash.extend ] && [ ! -e slash/.extend ] || fail "not the output asked for"

# It has learned: better than the student it began with, whose first evaluation is step 0.
mean_after() { awk -v want="$1" '/^step / { at = $2 } /^mean / && at == want { print $2; exit }' stderr; }
expect 0 $run --steps 60 --threads 2 --output whole
stderr_has "step 60"
awk -v a="$(mean_after 0)" -v b="$(mean_after 60)" 'BEGIN { exit !(b > a) }' || fail "nothing was learned"
stderr_has "before training -> kept model (step "
grep -q '^de  *src>trg  *[0-9.]* -> *[0-9.]* %  trg>src ' stderr || fail "no line of German before and after training"
grep -q '^mean  *[0-9.]* -> *[0-9.]* %$' stderr || fail "no mean before and after training"
! grep -q "looks like\|does not look" stderr || fail "columns that are in order were called into question"

# Stopped while it prepares, and resumed: what was made is not made again, and the model is the same.
for made in identity vocabulary student; do
  rm -rf early*
  "$PROGRAM" $run --steps 60 --output early >log 2>&1 &
  pid=$!
  for ((i = 0; i < 600; i++)); do [ ! -e "early.extend/$made" ] || break; sleep 0.02; done
  kill -KILL "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  [ ! -e early.extend/plan ] || continue # too fast to be stopped there
  expect 1 $run --steps 60 --vocab-size 4000 --resume --output early
  stderr_has "the run under way has vocab-size"
  expect 0 $run --steps 60 --resume --output early
  same whole/model.safetensors early/model.safetensors
  sed 's/early/whole/' early/README.md >README
  same whole/README.md README
done

# Stopped and resumed: the same bits. A run under way is not begun again. Held-out sentences are in no training text.
"$PROGRAM" $run --steps 60 --threads 1 --output whole2 >log 2>&1 &
pid=$!
while kill -0 "$pid" 2>/dev/null && ! grep -qs '^step 12$' log; do sleep 0.1; done
kill "$pid" 2>/dev/null
wait "$pid"
[ -e whole2.extend/plan ] || fail "the run ended before it was stopped"
cut -f 1 whole2.extend/dev-1.tsv | sort >held
cut -f 1 whole2.extend/train-[12].tsv | sort -u >trained
[ -s held ] && [ -z "$(comm -12 held trained)" ] || fail "held-out sentences are trained on"
expect 1 $run --steps 60 --output whole2
stderr_has "whole2.extend: an earlier call ended before it was done: resume it (--resume), or remove this and whole2.work"
expect 1 $run --steps 60 --vocab-balance 0.5 --resume --output whole2
stderr_has "the run under way has vocab-balance 0.7, not 0.5"
expect 1 $run --steps 70 --resume --output whole2
stderr_has "the run under way has steps 60, not 70"
cp whole2.extend/plan plan
for damage in 'calque extend 4\nsteps 60\nplanned 60\nweight 1\nweight 1\n' 'calque extend 5\nsteps 60\nplanned 60\n' \
  'calque extend 5\nsteps 60\n' ''; do
  printf "$damage" >whole2.extend/plan
  expect 1 $run --resume --output whole2
  stderr_has "whole2.extend"
done
sed 's/^weight .*/weight/' plan >whole2.extend/plan
expect 1 $run --resume --output whole2
stderr_has "whole2.extend/plan: is not the plan of a run with 2 files"
cp plan whole2.extend/plan
expect 0 $run --resume --output whole2
same whole/model.safetensors whole2/model.safetensors

# Bad runs.
expect 2 extend "$sample/teacher" --to de=de.tsv --contrast 0 --hard-negatives 2 -o none
stderr_has "hard-negatives: of the contrastive loss, which needs a weight (contrast)"
expect 2 extend "$sample/teacher" --to de=de.tsv --contrast 0 --matryoshka 8 -o none
stderr_has "matryoshka: of the contrastive loss, which needs a weight (contrast)"
expect 2 extend "$sample/teacher" --to de=de.tsv --time 20 -o none
stderr_has "time is '20', expected a number and s, m or h"
expect 2 extend "$sample/teacher" -o none
stderr_has "translations or a dictionary of a new language are needed"
expect 2 extend "$sample/teacher" --dictionary de=words.tsv --text de=de.txt -o none
stderr_has "a dictionary alone needs text of the model's own language"
expect 2 extend "$sample/teacher" --dictionary words.tsv --text en.txt -o none
stderr_has "words.tsv: which language's dictionary?"
expect 2 extend --to de=de.tsv -o none
expect 1 extend "$sample/teacher" --to de=missing.tsv -o none
stderr_has "missing.tsv"
: >empty.tsv
expect 1 extend "$sample/teacher" --to de=empty.tsv -o none
stderr_has "empty.tsv"
expect 1 extend no-such-model --to de=de.tsv -o none
stderr_has "no-such-model"
awk -F '\t' '{ print $2 "\t" $1 }' de.tsv >swapped.tsv
expect 3 extend "$sample/teacher" --to de=swapped.tsv --lr 0.5 --steps 100 --cache cache -o swapped
stderr_has "the first column does not look like the teacher's language"
stderr_has "COLLAPSE"

# Text of another language than the label says, or than the teacher's; long sentences; too little to hold anything out.
"$PROGRAM" extend "$sample/teacher" --to de=ru.tsv --steps 1 --cache cache -o other >log 2>&1
grep -q "de: the second column looks like 'ru' ([0-9]* % of 4[0-9]* sentences), not 'de' (0 %)" log || fail "Russian passes for German: $(cat log)"
paste <(cut -f 2 de.tsv) <(cut -f 2 ru.tsv) >third.tsv
"$PROGRAM" extend "$sample/teacher" --to ru=third.tsv --steps 1 --cache cache -o third >log 2>&1
grep -q "ru: the first column looks like 'de' (.*is it the teacher's language?" log || fail "German passes for English: $(cat log)"
expect 0 extend "$sample/teacher" --to de=<(head -n 15 de.tsv) --max-characters 60 --steps 1 --cache cache -o few
stderr_has "pairs too long: --max-characters)"
stderr_has "nothing is held out, because no file has twenty sources"
finish
