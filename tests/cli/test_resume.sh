#!/usr/bin/env bash
# A distillation that is killed (SIGKILL) at random moments and resumed ends in the bit-identical model, and in the same log
# but for timings. KILLS (default 8; 20 before a release) kills are spread over as many runs as it takes.
set -u
program=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
teacher=$source/tests/golden/models/bert-cased
student=$source/tests/golden/models/mpnet-mean
kills=${KILLS:-8}

# Sentences of our own: numbered, so that there are many; what they say does not matter here.
animals=(cat dog horse bird fish goat)
for i in $(seq 1 400); do
  printf 'The %s number %d sleeps.\tDas Tier %d mit dem Namen %s schläft.\n' "${animals[i % 6]}" "$i" "$i" "${animals[i % 5]}"
done >"$work/train.tsv"
head -40 "$work/train.tsv" >"$work/dev.tsv"

distill() {
  exec "$program" distill --teacher "$teacher" --student "$student" --train "$work/train.tsv" --dev "$work/dev.tsv" \
    --dim-match project --steps 240 --batch 16 --lr 1e-3 --evaluate-every 70 --checkpoint-every 25 --balanced \
    --cache "$work/cache" --seed 3 "$@" >>"$work/messages" 2>&1
}

fail() {
  echo "FAILED: $*"
  tail -20 "$work/messages"
  exit 1
}

started=$(date +%s%N)
(distill --output "$work/whole" --threads 2) || fail "the uninterrupted run"
duration_ms=$((($(date +%s%N) - started) / 1000000))

RANDOM=${SEED:-1}
done_kills=0 rounds=0
while [ "$done_kills" -lt "$kills" ]; do
  rounds=$((rounds + 1))
  [ "$rounds" -gt 200 ] && fail "200 rounds and only $done_kills kills"
  (distill --output "$work/killed" --threads $((1 + RANDOM % 3)) --resume) &
  pid=$!
  sleep "$(awk -v r=$RANDOM -v d=$duration_ms 'BEGIN { printf "%.3f", r / 32768 * d / 1000 * 0.6 }')"
  if kill -9 "$pid" 2>/dev/null; then
    wait "$pid" 2>/dev/null
    done_kills=$((done_kills + 1))
  else
    wait "$pid" || fail "a resumed run"
  fi
  if [ -d "$work/killed" ] && [ ! -e "$work/killed.work" ]; then # it had ended: compare, and begin anew
    cmp "$work/whole/model.safetensors" "$work/killed/model.safetensors" || fail "the weights differ after $done_kills kills"
    rm -rf "$work/killed" "$work"/killed.work.tmp-* # a kill may have come while the work directory was being removed
  fi
done
(distill --output "$work/killed" --resume) || fail "the last resumption"

cmp "$work/whole/model.safetensors" "$work/killed/model.safetensors" || fail "the weights differ"
(cd "$work/whole" && find . -type f ! -name log.jsonl ! -name README.md | sort) | while read -r file; do
  cmp "$work/whole/$file" "$work/killed/$file" || fail "$file differs"
done || exit 1
strip() { sed -E 's/,?"seconds":[0-9.e-]+//' "$1/log.jsonl"; }
[ "$(strip "$work/whole")" = "$(strip "$work/killed")" ] || fail "the logs differ"
[ ! -e "$work/killed.work" ] || fail "the work directory was left behind"
ls -d "$work"/*.tmp-* 2>/dev/null && fail "temporary files were left behind"
echo "$done_kills kills in $rounds runs of about $duration_ms ms: the same model, bit for bit"
