# calque distill: a short run, its output, stopping by signal and going on to the same bits, and refusals.
. "$(dirname "$0")/common.sh"

pairs 300 >de.tsv
pairs 200 | gzip -c >other.tsv.gz
pairs 40 >dev.tsv
"$PROGRAM" model new --kind static --text de.tsv --vocab-size 80 --dim 32 student 2>stderr ||
  fail "no student"
"$PROGRAM" model new --kind static --text de.tsv --vocab-size 80 --dim 16 narrow 2>stderr || fail "no narrow student"
run="distill --teacher $TEACHER --student student --dim-match project --cache cache --train de=de.tsv:2
     --train other.tsv.gz --dev de=dev.tsv --batch 16 --steps 300 --checkpoint-every 50
     --evaluate-every 100 --lr 0.01 --seed 7"

expect 0 $run --output whole --json --threads 2
stdout_has '"steps": 300'
stdout_has '"best_score": '
for file in modules.json README.md; do [ -f whole/$file ] || fail "whole/$file is missing"; done
expect 0 model check whole whole
expect 0 eval mse --model whole --teacher "$TEACHER" --csv dev.tsv

# The contrastive loss: another model, the same one on any number of threads, and its card says so.
expect 0 ${run/--steps 300/--steps 20} --contrast 1 --temperature 0.1 --output contrast --threads 1
expect 0 ${run/--steps 300/--steps 20} --contrast 1 --temperature 0.1 --output contrast2 --threads 2
expect 0 ${run/--steps 300/--steps 20} --output plain --threads 2
# Piece dropout and a share of the sources: another model, the same on any number of threads; not for every vocabulary.
expect 0 ${run/--steps 300/--steps 20} --piece-dropout 0.2 --source-share 0.3 --output dropout --threads 1
expect 0 ${run/--steps 300/--steps 20} --piece-dropout 0.2 --source-share 0.3 --output dropout2 --threads 2
same dropout/0_StaticEmbedding/model.safetensors dropout2/0_StaticEmbedding/model.safetensors
expect 0 ${run/--steps 300/--steps 20} --source-share 0.3 --output sources --threads 2
! cmp -s dropout/0_StaticEmbedding/model.safetensors sources/0_StaticEmbedding/model.safetensors ||
  fail "piece dropout changed nothing"
expect 1 ${run/--student student/--student $TEACHER} --piece-dropout 0.2 --output none
stderr_has "piece_dropout is for Unigram vocabularies, not for WordPiece"
# A frozen body: the vocabulary's embeddings alone are trained, the same ones on any number of threads. A projection is
# no part of the model begun from.
frozen="distill --teacher $TEACHER --student $TEACHER --cache cache --train de.tsv --batch 16 --steps 20 --lr 0.01 --freeze-body"
expect 0 $frozen --output frozen --threads 1
expect 0 $frozen --output frozen2 --threads 2
same frozen/model.safetensors frozen2/model.safetensors
expect 0 model new --kind copy --from "$TEACHER" copy
body_of copy >body
[ -s body ] || fail "no body"
grep -q "only the vocabulary's embeddings were trained" frozen/README.md || fail "the card does not tell of the frozen body"
body_of frozen | cmp -s - body || fail "the body is not what it was"
! cmp -s frozen/model.safetensors copy/model.safetensors || fail "nothing was trained"
expect 0 ${frozen/--freeze-body/} --output thawed
! body_of thawed | cmp -s - body || fail "the body was not trained"
expect 0 ${run/--steps 300/--steps 20} --freeze-body --output projected
! cmp -s projected/0_StaticEmbedding/model.safetensors student/0_StaticEmbedding/model.safetensors ||
  fail "nothing was trained"
for file in $(cd contrast && find . -name '*.safetensors'); do
  same "contrast/$file" "contrast2/$file"
  ! cmp -s "contrast/$file" "plain/$file" || fail "the contrastive loss changes nothing in $file"
done
grep -q "1 times a contrastive loss with the teacher's similarities as soft labels, temperature 0.1" contrast/README.md ||
  fail "the card does not tell of the loss"
expect 2 $run --contrast -1 --output none
narrow=${run/--student student --dim-match project/--student narrow --dim-match truncate}
expect 0 ${narrow/--dev de=dev.tsv/} --contrast 1 --output narrow-contrast

# Its weight goes to another one: as it is, where that is the same; the card says so.
falling="${run/--steps 300/--steps 20} --contrast 1 --temperature 0.1"
expect 0 $falling --final-contrast 1 --output level
expect 0 $falling --final-contrast 0 --output falling
expect 0 ${falling/--contrast 1/--contrast 0.5} --output half
for file in $(cd contrast && find . -name '*.safetensors'); do
  same "level/$file" "contrast/$file"
  ! cmp -s "falling/$file" "contrast/$file" || fail "the weight did not fall"
  ! cmp -s "falling/$file" "half/$file" || fail "the weight was at its mean throughout"
done
grep -q "1 times, in the end 0 times, a contrastive loss" falling/README.md || fail "the card does not tell of the fall"
expect 2 $run --final-contrast 1 --output none
stderr_has "final-contrast: of the contrastive loss, which needs a weight (contrast)"

# Hard negatives: of each kind another model, the same one on any number of threads, and the card says so.
hard="${run/--steps 300/--steps 20} --contrast 1 --temperature 0.1"
expect 0 $hard --hard-negatives 3 --output nearest --threads 1
expect 0 $hard --hard-negatives 3 --output nearest2 --threads 2
expect 0 $hard --near-misses --output misses --threads 1
expect 0 $hard --hard-negatives 3 --near-misses --output both --threads 2
expect 0 $hard --hard-negatives 3 --near-misses --output both1 --threads 1
for file in $(cd contrast && find . -name '*.safetensors'); do
  same "nearest/$file" "nearest2/$file"
  same "both/$file" "both1/$file"
  for other in contrast misses both; do
    ! cmp -s "nearest/$file" "$other/$file" || fail "the nearest sources change nothing against $other in $file"
  done
  ! cmp -s "misses/$file" "contrast/$file" || fail "near misses change nothing in $file"
done
grep -q "among its candidates the 3 nearest other sources of each; near misses of the sources" both/README.md ||
  fail "the card does not tell of hard negatives"
expect 2 $run --hard-negatives 3 --output none
stderr_has "hard-negatives: of the contrastive loss, which needs a weight (contrast)"
expect 2 $run --near-misses --output none
stderr_has "near-misses: of the contrastive loss"
expect 2 $run --contrast 1 --hard-negatives 1001 --output none
absent none

# Among accuracies within a standard error of the highest, and not below the first, the lower MSE is kept: the log says
# which that is.
often=${run/--steps 300/--steps 120}
expect 0 ${often/--evaluate-every 100/--evaluate-every 5} --output chosen --json
sed -n 's/.*"type":"evaluate","step":\([0-9]*\),.*"mean_translation":\([0-9.e+-]*\),"mean_mse":\([0-9.e+-]*\),.*/\1 \2 \3/p' chosen/log.jsonl |
  awk 'function low(a, top) { return a < top - sqrt(top * (1 - top) / 40) }
    NR == 1 { kept = top = first = $2; mse = $3; step = $1; next }
    { if ($2 > top) top = $2
      if (low($2, top) || $2 < first) next
      if (low(kept, top) || $3 < mse) { kept = $2; mse = $3; step = $1 } }
    END { print step, NR }' >wanted
read -r step n <wanted
[ "$n" -eq 25 ] || fail "the log has $n evaluations"
[ "$step" -gt 0 ] || fail "no step was better: nothing is tested"
stdout_has "\"best_step\": $step,"

# Matryoshka: another model, the same one on any number of threads; the card says so; prefixes shorter than the vector.
expect 0 $hard --matryoshka 8,16 --output prefixes --threads 1
expect 0 $hard --matryoshka 8 --matryoshka 16 --output prefixes2 --threads 2
for file in $(cd contrast && find . -name '*.safetensors'); do
  same "prefixes/$file" "prefixes2/$file"
  ! cmp -s "prefixes/$file" "contrast/$file" || fail "prefixes change nothing in $file"
done
grep -q "temperature 0.1, on all dimensions and on the first 8, 16 (Matryoshka)" prefixes/README.md ||
  fail "the card does not tell of the prefixes"
expect 2 $run --matryoshka 8 --output none
stderr_has "matryoshka: of the contrastive loss, which needs a weight (contrast)"
expect 2 $run --contrast 1 --matryoshka 8,0 --output none
stderr_has "matryoshka is 0, expected 1 to"
expect 2 $run --contrast 1 --matryoshka 8, --output none
expect 1 ${narrow/--dev de=dev.tsv/} --contrast 1 --matryoshka 8,16 --output none
stderr_has "matryoshka is 16, expected fewer dimensions than the student's 16"
absent none

# Text without translations: beside pairs, drawn by weight; another model, the same one on any number of threads. The
# sources beside it are those of the pairs.
pairs 400 | tail -n 150 | cut -f 1 | sed 's/^/And /' >plain.txt
gzip -c plain.txt >plain.txt.gz
text="${run/--steps 300/--steps 20} --source-text en=plain.txt.gz:2"
for more in '' '--contrast 1 --hard-negatives 2' '--source-share 0.3 --piece-dropout 0.2'; do
  call=$text
  case $more in *dropout*) call=${text/tsv:2/tsv} call=${call/gz:2/gz} ;; esac # all entries shuffled
  expect 0 $call $more --output text1 --threads 1 --replace
  stderr_has "en: 150 sentences (150 lines, 0 malformed skipped, 0 too long)"
  expect 0 $call $more --output text2 --threads 2 --replace
  expect 0 ${call/--source-text en=plain.txt.gz/--train en=de.tsv} $more --output without --replace
  for file in $(cd text1 && find . -name '*.safetensors'); do
    same "text1/$file" "text2/$file"
    ! cmp -s "text1/$file" "without/$file" || fail "the text changes nothing in $file"
  done
done
grep -q '^| en | 150 | 0 | 1 |' text1/README.md || fail "the card does not tell of the text"
# Alone it draws the student to the teacher.
alone="distill --teacher $TEACHER --student student --dim-match project --cache cache --source-text plain.txt
  --batch 16 --lr 0.01 --steps 200"
expect 0 $alone --output alone --threads 2
stderr_has "plain: 150 sentences"
grep -q "gives a sentence the vector that a larger one gives it" alone/README.md || fail "the card speaks of translations"
paste plain.txt plain.txt >plain.tsv
mse() { # MODEL
  "$PROGRAM" eval mse --model "$1" --teacher "$TEACHER" --csv plain.tsv 2>stderr | tail -n 1 | cut -d , -f 3
}
expect 0 ${alone/--steps 200/--steps 1} --output begun
awk -v is="$(mse alone)" -v was="$(mse begun)" 'BEGIN { exit !(was > 0 && is != "" && is < 0.5 * was) }' ||
  fail "the student is not drawn to the teacher: $(mse begun), then $(mse alone)"
expect 0 ${alone/--steps 200/--steps 2} --max-length 3 --output short # each sentence once
stderr_has "32 of 32 sentences drawn were longer than the model's 3 tokens"
# What is malformed is named, or skipped; what is empty is refused.
expect 1 ${alone/plain.txt/plain.tsv} --output none
stderr_has "plain.tsv:1:"
stderr_has "a tab, expected a sentence without translations"
: >empty.txt
expect 1 ${alone/plain.txt/empty.txt} --output none
stderr_has "empty.txt: no sentences"
expect 1 ${alone/plain.txt/plain.tsv} --skip-bad --output none
stderr_has "no sentences (150 lines, 150 malformed, 0 too long)"
expect 2 ${alone/--source-text plain.txt/} --output none
stderr_has "at least one file to train on is needed (train, source-text)"

dev_mse() { # MODEL
  "$PROGRAM" eval mse --model "$1" --teacher "$TEACHER" --csv dev.tsv 2>stderr | tail -n 1 | cut -d , -f 3
}

# A student begins as the linear map to the teacher's space, also where the dimensions agree.
expect 0 model new --kind static --text de.tsv --vocab-size 80 --dim 24 other
for how in equal fit; do
  expect 0 distill --teacher "$TEACHER" --student other --dim-match $how --cache cache --train de=de.tsv --steps 1 --lr 1e-9 \
    --output start-$how
done
[ -d start-fit/1_Dense ] && [ ! -d start-equal/1_Dense ] || fail "not one Dense, and only where the map is fitted"
awk -v fit="$(dev_mse start-fit)" -v equal="$(dev_mse start-equal)" 'BEGIN { exit !(fit != "" && fit < 0.5 * equal) }' ||
  fail "no better start: $(dev_mse start-equal), then $(dev_mse start-fit)"

# Averaged weights are a candidate: at a rate that stays high their mean is better than the last of them.
average="distill --teacher $TEACHER --student other --cache cache --train de=de.tsv
  --dev de=dev.tsv --batch 4 --steps 605 --evaluate-every 5 --lr 0.2 --schedule constant --best-by mse"
expect 0 $average --output weights --threads 2
stderr_has "wrote weights (the model after step"
expect 0 $average --average 20 --output mean --threads 2
stderr_has "step 605, mean of the last 20 evaluations' weights"
stderr_has "wrote mean (the model after step 605, the mean of 20 evaluations' weights)"
expect 0 $average --average 20 --output mean1 --threads 1 --json
stdout_has '"best_step": 605'
stdout_has '"averaged": 20'
grep -q "the mean of the weights at 20 evaluations up to step 605" mean/README.md || fail "the card does not tell"
[ "$(grep -c '"type": *"average"' mean/log.jsonl)" -eq 19 ] || fail "not 19 evaluations of means in the log"
for file in $(cd mean && find . -name '*.safetensors'); do same "mean/$file" "mean1/$file"; done
awk -v is="$(dev_mse mean)" -v of="$(dev_mse weights)" 'BEGIN { exit !(is != "" && is < 0.8 * of) }' ||
  fail "the mean is no better: $(dev_mse weights), then $(dev_mse mean)"

# Refusals: an output directory that exists; nothing to resume is a fresh run.
expect 1 $run --output whole
stderr_has "whole"
stderr_has "exists"
expect 1 $run --output whole --resume
stderr_has "exists"
mkdir o.work && echo mine >o.work/notes.txt
expect 1 $run --output o
stderr_has "notes.txt"
[ -f o.work/notes.txt ] || fail "a file that is not the run's was removed"
rm -r o.work
echo 'somebody else wrote this' >old.jsonl
expect 1 $run --output o --log old.jsonl
stderr_has "old.jsonl: already exists"
[ -s old.jsonl ] || fail "a log that was there was emptied"
mkdir o.work && echo mine >o.work/best-notes.txt
expect 1 $run --output o
stderr_has "best-notes.txt"
rm -r o.work
expect 2 $run --output o --shards 300
expect 2 distill --teacher "$TEACHER" --student student --dim-match project --train de.tsv --output o --epochs 1e30
stderr_has "epochs"
expect 1 $run --output o --no-shuffle
stderr_has "weights"
expect 1 distill --teacher "$TEACHER" --student student --output o --cache cache --train nowhere.tsv
stderr_has "nowhere.tsv"
absent o
printf 'one\tuno\ntwo\n' >bad.tsv
expect 1 distill --teacher "$TEACHER" --student student --dim-match project --output o --cache cache --train bad.tsv
stderr_has "bad.tsv:2:"
[ ! -e o ] || fail "an output directory was left"

# Two runs at once in one work directory: one of them fails with an error.
mkdir shared.work
(flock -n 9 && exec "$PROGRAM" $run --output shared >stdout 2>stderr) 9<shared.work
[ $? -eq 1 ] || fail "two runs work in one directory"
stderr_has "another process is at work here"
rm -r shared.work

# Stopped by a signal, then resumed with another number of threads: the same model to the bit.
"$PROGRAM" $run --output stopped --threads 2 >stdout 2>stderr &
pid=$!
for _ in $(seq 200); do
  [ -e stopped.work ] && break
  kill -0 $pid 2>/dev/null || break
  sleep 0.02
done
sleep 0.1
kill -INT $pid 2>/dev/null
wait $pid
code=$?
last="distill, SIGINT"
if [ $code -eq 0 ]; then
  echo "note: the run was over before the signal came"
else
  [ $code -eq 130 ] || fail "exit code $code after SIGINT, expected 130"
  stderr_has "Go on with:"
  stderr_has "--resume"
  expect 0 $run --output stopped --threads 1 --resume
fi
expect 0 model check whole stopped --min-cosine 1
find whole -name '*.safetensors' | grep -q . || fail "no weights in whole"
for file in $(cd whole && find . -name '*.safetensors'); do same "whole/$file" "stopped/$file"; done
finish
