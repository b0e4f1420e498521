#!/usr/bin/env bash
# Which rows of a parallel file are translations: AUC of calque data score on rows with nine kinds of noise, beside the
# margin of cosines as LASER has it, and OpusFilter's rules.
#
#   bench/score.sh PROGRAM DATA WORK [MODEL [N [SHARE]]]   N rows, 10,000 by default; SHARE of each kind of noise, 0.1
#   bench/score.sh --train PROGRAM DATA WORK [MODEL]       prints the weights of src/recipe/score/score_model.c
#
# DATA/parallel has the text, WORK keeps what is made: text with noise, vectors, a Python environment with numpy and
# opusfilter.
set -euo pipefail
[ "${1:-}" = --train ] && train=1 && shift || train=
[ $# -ge 3 ] && [ $# -le 6 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(realpath "$1") data=$2 work=$3 model=${4:-base} n=${5:-10000} share=${6:-0.1}
peers=$(cd "$(dirname "$0")" && pwd)/peers
mkdir -p "$work"
if [ ! -d "$work/python" ]; then
  python3 -m venv "$work/python"
  "$work/python/bin/pip" install --quiet numpy opusfilter
fi
python() { "$work/python/bin/python" "$peers/score.py" "$@"; }
score() { "$program" data score --model "$model" --precision bf16 --cache "$work/cache" "$@"; }

if [ "$train" ]; then
  for rows in en-cs:6000:2500 en-es:6000:6000 en-et:1600:1600 en-fi:4000:2500 en-fr:4000:2500 en-hu:2000:2000 \
              en-it:2500:2500; do # a pair, how many rows get noise, how many of them are kept
    IFS=: read -r pair n kept <<<"$rows"
    into=$work/train-$pair
    mkdir -p "$into"
    python noise "$data" "$pair" 1 "$n" 0.1 "$into"
    for file in noisy.tsv kinds; do head -n "$kept" "$into/$file" >"$into/head" && mv "$into/head" "$into/$file"; done
    score --quiet --json "$into/noisy.tsv" -o "$into/scored.jsonl"
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
  python rules "$rows/noisy.tsv" "$pair" >"$rows/rules"
  for side in 1 2; do
    cut -f $side "$rows/noisy.tsv" | "$program" encode --quiet --model "$model" --precision bf16 -o "$rows/$side.npy"
  done
  python margin "$rows/1.npy" "$rows/2.npy" >"$rows/margin"
  echo "## $pair, $n rows, $share of each kind"
  python auc "$rows/kinds" calque="$rows/calque" margin="$rows/margin" rules="$rows/rules"
  score --quiet --json --min-precision 0.95 "$rows/noisy.tsv" -o "$rows/kept.jsonl"
  python precision "$rows/kept.jsonl" "$rows/kinds"
done
