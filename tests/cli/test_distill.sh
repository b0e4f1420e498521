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
stderr_has "hard-negatives: candidates of the contrastive loss, which needs a weight (contrast)"
expect 2 $run --near-misses --output none
stderr_has "near-misses: candidates of the contrastive loss"
expect 2 $run --contrast 1 --hard-negatives 1001 --output none
absent none

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

# Two runs at once in one place: one of them is told.
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
