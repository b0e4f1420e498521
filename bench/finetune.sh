#!/bin/bash
# Finetuning side by side with sentence-transformers and PyTorch: the same model, data, order and options.
#   bench/finetune.sh CALQUE VENV DATA [WORK]
# CALQUE is the built program; VENV the peer environment (made when it is not there); DATA holds parallel/ and
# sts/stsb-en-train.tsv.gz.
# 1. dropout 0: the loss curves of the first steps must lie on each other (relative difference at most 1e-3), for pairs ranked
#    among a batch's and for scores.
# 2. time of a step with dropout, both sides in turn (wants an otherwise idle machine).
# In the environment may stand MODEL (all-MiniLM-L6-v2), BATCH (32), STEPS (60), THREADS (2), PARTS ("curve time").
set -eu
calque=${1:?usage: finetune.sh CALQUE VENV DATA [WORK]} venv=$2 data=$3
here=$(cd "$(dirname "$0")" && pwd)
packaged=$("$here/peers/setup.sh" "$venv")
model=${MODEL:-$packaged} batch=${BATCH:-32} steps=${STEPS:-60} threads=${THREADS:-2}
work=${4:-$(mktemp -d)}
mkdir -p "$work"
python=$venv/bin/python
"$python" "$here/peers/texts.py" train "$data" "$work/pairs.tsv" $((batch * steps)) 200
gzip -dc "$data/sts/stsb-en-train.tsv.gz" | awk -F '\t' '!seen[$1]++' | head -n $((batch * steps)) >"$work/scored.tsv"

ours() { # NAME KIND DROPOUT
  rm -rf "$work/$1.ours" "$work/$1.ours.work" "$work/$1.ours.jsonl"
  "$calque" finetune --model "$model" --"$2" "$work/$2.tsv" --output "$work/$1.ours" --no-shuffle --batch "$batch" --steps "$steps" \
    --warmup 10 --lr 2e-5 --eps 1e-6 --weight-decay 0.01 --clip 1 --dropout "$3" --threads "$threads" --max-characters 0 \
    --evaluate-every 0 --checkpoint-every 1000000 --log "$work/$1.ours.jsonl" 2>"$work/$1.ours.stderr" || { tail -5 "$work/$1.ours.stderr"; exit 1; }
}
theirs() { # NAME KIND DROPOUT
  "$python" "$here/peers/finetune_peer.py" --model "$model" --kind "$2" --train "$work/$2.tsv" --batch "$batch" --steps "$steps" \
    --warmup 10 --lr 2e-5 --eps 1e-6 --weight-decay 0.01 --clip 1 --dropout "$3" --threads "$threads" \
    --log "$work/$1.theirs.jsonl" 2>"$work/$1.theirs.stderr" || { tail -5 "$work/$1.theirs.stderr"; exit 1; }
}

for part in ${PARTS:-curve time}; do
  for kind in pairs scored; do
    case $part in
    curve)
      echo "# $kind, dropout 0, $steps steps of $batch pairs"
      ours "curve-$kind" "$kind" 0
      theirs "curve-$kind" "$kind" 0
      "$python" "$here/peers/curves.py" "$work/curve-$kind.ours.jsonl" "$work/curve-$kind.theirs.jsonl" 1e-3 "$steps"
      ;;
    time)
      echo "# $kind, dropout 0.1, three rounds in turn; load $(cut -d' ' -f1-3 /proc/loadavg)"
      for round in 1 2 3; do
        ours "time-$kind-$round" "$kind" 0.1
        theirs "time-$kind-$round" "$kind" 0.1
        "$python" "$here/peers/curves.py" "$work/time-$kind-$round.ours.jsonl" "$work/time-$kind-$round.theirs.jsonl" 1e9 "$steps" | grep seconds
      done
      ;;
    esac
  done
done
