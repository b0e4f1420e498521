#!/bin/bash
# Distillation side by side with sentence-transformers and PyTorch: the same student, data, order and options.
#   bench/distill.sh CALQUE VENV DATA [WORK [STUDENT]]
# The teacher's vectors are computed once and kept by both sides; their computation is in no figure.
# 1. dropout 0: the loss curves of the first 100 steps must lie on each other (relative difference at most 1e-3).
# 2. time of a step, both sides in turn (wants an otherwise idle machine).
#    Theirs with the fused optimizer. PRECISION="bf16" (f32): also in bf16, theirs under autocast, all four in turn.
# 3. dropout as the student's config says: translation accuracy after STEPS steps, three seeds a side. SIDES="ours bf16
#    theirs" (ours theirs): bf16 is ours, too.
# STUDENT is a directory (the teacher's). In the environment may stand TEACHER (all-MiniLM-L6-v2), LAYERS (keep only so many
# of the student's), BATCH (32), STEPS (300), LR (2e-5), SEEDS ("1 2 3"), THREADS (2), CHARACTERS (200: longest sentence to
# train on) and PARTS ("curve time accuracy"). WORK keeps logs and models.
set -eu
calque=${1:?usage: distill.sh CALQUE VENV DATA [WORK [STUDENT]]} venv=$2 data=$3
here=$(cd "$(dirname "$0")" && pwd)
packaged=$("$here/peers/setup.sh" "$venv")
teacher=${TEACHER:-$packaged} student=${5:-$packaged}
batch=${BATCH:-32} steps=${STEPS:-300} threads=${THREADS:-2} rate=${LR:-2e-5}
work=${4:-$(mktemp -d)}
mkdir -p "$work"
python=$venv/bin/python
"$python" "$here/peers/texts.py" train "$data" "$work/train.tsv" $((batch * (steps > 100 ? steps : 100))) "${CHARACTERS:-200}"
rm -f "$work/teacher.pt"
if [ -n "${LAYERS:-}" ]; then
  "$python" "$here/peers/shrink.py" "$student" "$LAYERS" "$work/student" 2>"$work/shrink.stderr"
  student=$work/student
fi

ours() { # NAME STEPS DROPOUT SEED [OPTION...]
  rm -rf "$work/$1.ours" "$work/$1.ours.work" "$work/$1.ours.jsonl"
  "$calque" distill --teacher "$teacher" --student "$student" --train "$work/train.tsv" --output "$work/$1.ours" \
    --no-shuffle --batch "$batch" --steps "$2" --warmup 10 --lr "$rate" --eps 1e-6 --weight-decay 0.01 --clip 1 \
    --dropout "$3" --seed "$4" --best-by last --threads "$threads" --max-characters 0 --evaluate-every 0 \
    --checkpoint-every 1000000 --cache "$work/cache" --log "$work/$1.ours.jsonl" "${@:5}" 2>"$work/$1.ours.stderr" || { tail -5 "$work/$1.ours.stderr"; exit 1; }
}
theirs() { # NAME STEPS DROPOUT SEED [OPTION...]
  rm -rf "$work/$1.theirs"
  "$python" "$here/peers/train_peer.py" --teacher "$teacher" --student "$student" --train "$work/train.tsv" \
    --output "$work/$1.theirs" --batch "$batch" --steps "$2" --warmup 10 --lr "$rate" --eps 1e-6 --weight-decay 0.01 --clip 1 \
    --dropout "$3" --seed "$4" --threads "$threads" --vectors "$work/teacher.pt" \
    --log "$work/$1.theirs.jsonl" "${@:5}" 2>"$work/$1.theirs.stderr" || { tail -5 "$work/$1.theirs.stderr"; exit 1; }
}

for part in ${PARTS:-curve time accuracy}; do
  case $part in
  curve)
    echo "# dropout 0, 100 steps of $batch pairs"
    ours curve 100 0 1
    theirs curve 100 0 1
    "$python" "$here/peers/curves.py" "$work/curve.ours.jsonl" "$work/curve.theirs.jsonl"
    ;;
  time)
    echo "# 40 steps with dropout, three rounds in turn; load $(cut -d' ' -f1-3 /proc/loadavg)"
    for round in 1 2 3; do
      ours time$round 40 0.1 1
      theirs time$round 40 0.1 1 --fused
      "$python" "$here/peers/curves.py" "$work/time$round.ours.jsonl" "$work/time$round.theirs.jsonl" 1e9 40 | grep seconds
      [ "${PRECISION:-f32}" = bf16 ] || continue
      ours bf16-$round 40 0.1 1 --precision bf16
      theirs bf16-$round 40 0.1 1 --bf16 --fused
      for peer in time$round bf16-$round; do
        echo "bf16 beside theirs in $([ $peer = time$round ] && echo f32 || echo bf16): $("$python" "$here/peers/curves.py" "$work/bf16-$round.ours.jsonl" "$work/$peer.theirs.jsonl" 1e9 40 | grep seconds)"
      done
    done
    ;;
  accuracy)
    echo "# accuracy after $steps steps with dropout 0.1 (source to target, target to source, mean, in percent)"
    for seed in ${SEEDS:-1 2 3}; do
      for side in ${SIDES:-ours theirs}; do
        case $side in
        ours) ours seed$seed "$steps" 0.1 "$seed" ;;
        bf16) ours seed$seed-bf16 "$steps" 0.1 "$seed" --precision bf16 && rm -rf "$work/seed$seed.bf16" &&
          mv "$work/seed$seed-bf16.ours" "$work/seed$seed.bf16" ;;
        theirs) theirs seed$seed "$steps" 0.1 "$seed" ;;
        esac
        echo "seed $seed $side: $("$calque" eval translation --csv --model "$work/seed$seed.$side" "$data/parallel/en-de/test-tatoeba.tsv.gz" | tail -1)"
      done
    done
    ;;
  esac
done
