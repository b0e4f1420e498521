#!/usr/bin/env bash
# Classes learned in English and found in other languages: a logistic regression on a model's frozen vectors tells which kind of
# text a sentence is from (everyday, news, captions, technical).
#
#   bench/classify.sh PROGRAM DATA WORK MODEL...
#
#   DATA   holds parallel/en-{de,fr,es,it}/train-{tatoeba,news,stsb-mt,tldr}.tsv.gz
#   WORK   keeps the text
# Of each kind 500 English sentences to learn from, and 300 of each language to measure on; no pair is on both sides.
set -euo pipefail
[ $# -ge 4 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2/parallel work=$3
shift 3
mkdir -p "$work"

rows() { # LANGUAGE COLUMN learn|test N: sentences and their classes, from one half of the lines
  local class
  for class in tatoeba news stsb-mt tldr; do
    gzip -dc "$data/en-$1/train-$class.tsv.gz" |
      awk -F '\t' -v OFS='\t' -v column="$2" -v first="$([ "$3" = learn ] && echo 0 || echo 5)" -v most="$4" -v class="$class" \
        'NR % 10 >= first && NR % 10 < first + 5 && n++ < most { print $column, class }'
  done
}
rows de 1 learn 500 >"$work/learn.tsv"
rows de 1 test 300 >"$work/en.tsv"
tests=("en=$work/en.tsv")
for language in de fr es it; do
  rows "$language" 2 test 300 >"$work/$language.tsv"
  tests+=("$language=$work/$language.tsv")
done
for model in "$@"; do
  echo "## $(basename "$model")"
  "$program" eval classify --model "$model" --threads "${THREADS:-2}" --train "$work/learn.tsv" "${tests[@]}"
done
