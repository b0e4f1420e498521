#!/usr/bin/env bash
# What hard negatives bring a student of several languages: it is trained on, with each number of them, for equally many steps.
# docs/results/choices.md, "Hard negatives".
#
#   bench/hard_negatives.sh PROGRAM DATA TEACHER STUDENT WORK LANGUAGE...      languages as two letters: de fr es ru ar hi zh
#
#   DATA    holds parallel/en-XX/{train-*,dev-ntrex,test-{tatoeba,ntrex}}.tsv.gz
#   WORK    keeps text and models (WORK/negatives-N); what is there is not made again
#   NEGATIVES ("4 0"), STEPS (500), RATE (1e-4), EMBEDDING_RATE (3e-4), SEED (1), THREADS (2) in the environment
#
# Accuracy is the mean of both directions in percent.
set -euo pipefail
[ $# -ge 6 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 student=$4 work=$5
shift 5
mkdir -p "$work"
train=()
for l in "$@"; do
  [ -s "$work/$l.tsv" ] || gzip -dc "$data/parallel/en-$l"/train-*.tsv.gz | cut -f 1,2 >"$work/$l.tsv"
  train+=(--train "$l=$work/$l.tsv")
done
for n in ${NEGATIVES:-4 0}; do
  model=$work/negatives-$n
  [ -d "$model" ] || "$program" distill --threads "${THREADS:-2}" --teacher "$teacher" --student "$student" "${train[@]}" --balanced \
    --lr "${RATE:-1e-4}" --embedding-lr "${EMBEDDING_RATE:-3e-4}" --eps 1e-9 --dropout 0 --contrast 1 --hard-negatives "$n" \
    --source-share 0.25 --piece-dropout 0.15 --precision bf16 --steps "${STEPS:-500}" --warmup 50 --best-by last \
    --evaluate-every 0 --seed "${SEED:-1}" --skip-bad --cache "$work/cache" --output "$model" 2>"$model.log"
done
score() { # MODEL: a row
  local l set
  printf '| %s' "$(basename "$1")"
  for set in dev-ntrex test-ntrex test-tatoeba; do
    local files=()
    for l in "$@"; do [ "$l" = "$1" ] || files+=("$l=$data/parallel/en-$l/$set.tsv.gz"); done
    "$program" eval translation --quiet --csv --threads "${THREADS:-2}" --model "$1" "${files[@]}" |
      awk -F , 'NR > 1 && $1 != "average" { sum += $5; n++; printf " | %.1f", 100 * $5 } END { printf " | %.2f", 100 * sum / n }'
  done
  echo ' |'
}
echo "of each set: accuracy of ${*}, and their mean; dev-ntrex, test-ntrex, test-tatoeba"
for model in "$student" $(for n in ${NEGATIVES:-4 0}; do echo "$work/negatives-$n"; done); do score "$model" "$@"; done
