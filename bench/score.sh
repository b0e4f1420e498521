#!/usr/bin/env bash
# Which rows of a parallel file are translations: AUC of calque data score on rows with nine kinds of noise, beside the
# margin of cosines as LASER has it, and OpusFilter's rules.
#
#   bench/score.sh PROGRAM DATA WORK [MODEL [N [SHARE]]]   N rows, 10,000 by default; SHARE of each kind of noise, 0.1
#   bench/score.sh --train PROGRAM DATA WORK [MODEL]       prints the weights of src/recipe/score/score_model.c
#
# DATA/parallel has the text, WORK keeps what is made: text with noise, vectors, a Python environment with numpy.
set -euo pipefail
[ "${1:-}" = --train ] && train=1 && shift || train=
[ $# -ge 3 ] && [ $# -le 6 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(realpath "$1") data=$2 work=$3 model=${4:-base} n=${5:-10000} share=${6:-0.1}
peers=$(cd "$(dirname "$0")" && pwd)/peers
mkdir -p "$work"
if [ ! -d "$work/python" ]; then
  python3 -m venv "$work/python"
  "$work/python/bin/pip" install --quiet numpy
fi
python() { "$work/python/bin/python" "$peers/score.py" "$@"; }
score() { "$program" data score --model "$model" --precision bf16 --cache "$work/cache" "$@"; }

if [ "$train" ]; then
  for pair in en-fr en-es en-cs en-hu en-fi; do
    mkdir -p "$work/train-$pair"
    python noise "$data" "$pair" 1 2000 0.1 "$work/train-$pair"
    score --quiet --json "$work/train-$pair/noisy.tsv" -o "$work/train-$pair/scored.jsonl"
  done
  python train "$work"/train-*
  exit
fi
for pair in en-de en-ru; do
  rows=$work/$pair
  mkdir -p "$rows"
  python noise "$data" "$pair" 48 "$n" "$share" "$rows"
  score --json "$rows/noisy.tsv" -o "$rows/scored.jsonl"
  score --quiet "$rows/noisy.tsv" -o "$rows/calque"
  python rules "$rows/scored.jsonl" >"$rows/rules"
  for side in 1 2; do
    cut -f $side "$rows/noisy.tsv" | "$program" encode --quiet --model "$model" --precision bf16 -o "$rows/$side.npy"
  done
  python margin "$rows/1.npy" "$rows/2.npy" >"$rows/margin"
  echo "## $pair, $n rows, $share of each kind"
  python auc "$rows/kinds" calque="$rows/calque" margin="$rows/margin" rules="$rows/rules"
  score --quiet --json --min-precision 0.95 "$rows/noisy.tsv" -o "$rows/kept.jsonl"
  python precision "$rows/kept.jsonl" "$rows/kinds"
done
