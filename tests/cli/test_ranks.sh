# mpirun -n N calque distill: the bits of one process for any number of ranks and threads; a rank that is killed and
# resumed with another number of ranks; ranks that are not about to do the same.
. "$(dirname "$0")/common.sh"
. "$SOURCE/tests/cli/ranks.sh"

TEACHER=$SOURCE/sample/teacher
gzip -dc "$SOURCE/sample/train/en-de.tsv.gz" | head -n 600 >de.tsv
gzip -dc "$SOURCE/sample/dev/en-de.tsv.gz" | head -n 60 >dev.tsv
expect 0 model new --from "$TEACHER" --vocab-size 2000 --text de=de.tsv student
distill=(distill --teacher "$TEACHER" --train de=de.tsv --dev de=dev.tsv --batch 16 --checkpoint-every 2)
short=("${distill[@]}" --student student --steps 6 --evaluate-every 3)
long=("${distill[@]}" --student student --steps 150)

expect 0 "${short[@]}" --threads 2 --output alone
for how in 1:1 1:2 2:1 2:2 3:1 3:2 4:2 4:1; do
  n=${how%:*} threads=${how#*:}
  ranks "$n" 0 "${short[@]}" --threads "$threads" --output "of-$how"
  same alone/model.safetensors "of-$how/model.safetensors"
  [ "$(grep -c 'wrote of-' stderr)" -eq 1 ] || fail "not one rank tells: $(cat stderr)"
  absent "of-$how.work"
done
grep -q '^4 ranks: rank 0 has sent [0-9.]* MB and received [0-9.]* MB a step' stderr || fail "no word of what was exchanged"
# Each gradient goes to another rank once and comes back once: two ranks exchange little more.
ranks 2 0 "${short[@]}" --threads 1 --output counted
awk '/^2 ranks: rank 0 has sent/ { seen = 1; if ($7 > 1.1 * $(NF - 1) || $11 > 1.1 * $(NF - 1) || $7 < 0.9 * $(NF - 1)) exit 1 }
  END { exit !seen }' stderr || fail "more was exchanged than the gradients: $(grep ranks: stderr)"
ranks 2 0 "${short[@]}" --exchange bf16 --threads 1 --output narrow
awk '/^2 ranks: rank 0 has sent/ { seen = 1; if ($7 > 1.1 * $(NF - 1)) exit 1 } END { exit !seen }' stderr || fail "bf16: $(grep ranks: stderr)"
cmp -s alone/model.safetensors narrow/model.safetensors && fail "gradients that were rounded made the same model"
[ "$(grep -c '"type":"step"' of-4:1/log.jsonl)" -eq 6 ] || fail "the log has not one line a step"

# Fine-tuning, whose losses need all vectors of a batch.
finetune=(finetune --model "$TEACHER" --pairs de.tsv --steps 4 --batch 12)
expect 0 "${finetune[@]}" --output tuned
ranks 3 0 "${finetune[@]}" --threads 1 --output tuned-3
same tuned/model.safetensors tuned-3/model.safetensors
extend=(extend "$TEACHER" --to de=de.tsv --vocab-size 2000 --steps 30)
expect 0 "${extend[@]}" --output extended
ranks 2 0 "${extend[@]}" --threads 1 --output extended-2
same extended/model.safetensors extended-2/model.safetensors
absent extended-2.extend

# Autoencoders, three stages' worth of kinds of batches.
gzip -dc "$SOURCE/sample/train/en-es.tsv.gz" | head -n 40 >es.tsv
autoencode=(autoencode train)
options=(en,es=es.tsv --dev en,es=es.tsv --embedding 16 --hidden 16 --latent 16 --batch 8 --shards 4 --together 2)
expect 0 "${autoencode[@]}" translating "${options[@]}"
ranks 3 0 "${autoencode[@]}" translating-3 "${options[@]}" --threads 1
(cd translating && find . -name '*.safetensors') >weights
[ "$(wc -l <weights)" -eq 8 ] || fail "expected 8 files of weights: $(cat weights)"
while read -r file; do same "translating/$file" "translating-3/$file"; done <weights
ranks 2 1 cluster --model "$TEACHER" de.tsv
stderr_has "calque cluster: mpirun has started several processes"

# Tables shared out: the same bits, whole at every evaluation, in the checkpoint and in the end.
for n in 2 3; do
  ranks $n 0 "${short[@]}" --shard-tables --threads 1 --output shared-$n
  same alone/model.safetensors shared-$n/model.safetensors
done

# A rank is killed; the rest of the run has another number of ranks.
delay_ms=$((RANDOM % 1000))
last="a rank killed $delay_ms ms after the first checkpoint"
echo "$last"
mpirun -n 2 "$PROGRAM" "${long[@]}" --output killed >/dev/null 2>&1 &
kill_rank $! killed.work/checkpoint $delay_ms
[ -e killed.work/checkpoint ] || fail "nothing is left to resume"
ranks 3 0 "${long[@]}" --output killed --resume --shard-tables
expect 0 "${long[@]}" --output whole
same whole/model.safetensors killed/model.safetensors

# Asked to stop, the run says how several ranks go on.
last="mpirun -n 2 calque distill and SIGINT"
mpirun -n 2 "$PROGRAM" "${distill[@]}" --student student --steps 100000 --output stopped >stdout 2>stderr </dev/null &
wait_for stopped.work/checkpoint
pkill -INT -P $! calque
wait $! && fail "a run that was stopped is no success"
stderr_has " mpirun -n 2 $PROGRAM distill "
stderr_has " --output stopped --resume"

# Ranks that differ end all, with one message that says which and where.
last="two ranks with other options"
mpirun -n 1 "$PROGRAM" "${short[@]}" --output unlike : -n 1 "$PROGRAM" "${short[@]}" --lr 0.5 --output unlike \
  >stdout 2>stderr </dev/null && fail "ranks with other options are no success"
stderr_has "rank 1 of 2 on $(uname -n)"
stderr_has "rank 0: the run under way has lr 2e-05, not 0.5"
[ ! -e unlike ] || fail "a model was written"
last="two ranks, of which one shards tables"
mpirun -n 1 "$PROGRAM" "${short[@]}" --output unlike : -n 1 "$PROGRAM" "${short[@]}" --shard-tables --output unlike \
  >stdout 2>stderr </dev/null && fail "ranks with other options are no success"
stderr_has "rank 0 keeps tables whole, this rank shards them"
last="a full disk on one rank"
(trap '' XFSZ; mpirun -n 1 bash -c 'ulimit -f 64; exec "$@"' - "$PROGRAM" "${short[@]}" --output full : -n 1 "$PROGRAM" "${short[@]}" \
  --output full >stdout 2>stderr </dev/null) && fail "a full disk is no success"
stderr_has "rank 0 of 2 on $(uname -n)"
stderr_has "File too large"
[ ! -e full ] || fail "a model was written"
last="a rank without the student"
mpirun -n 1 "$PROGRAM" "${short[@]}" --output missing : -n 1 "$PROGRAM" "${distill[@]}" --student nowhere --steps 6 --evaluate-every 3 --output missing \
  >stdout 2>stderr </dev/null && fail "a rank without the student is no success"
stderr_has "rank 1 of 2"
stderr_has "nowhere"
[ ! -e missing ] || fail "a model was written"

finish
