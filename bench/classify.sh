#!/usr/bin/env bash
# Classes learned in English and found in other languages: a logistic regression on a model's frozen vectors tells which kind of
# text a sentence is from (everyday, news, captions, technical).
#
#   bench/classify.sh PROGRAM DATA WORK MODEL...
#
#   DATA   holds parallel/en-{de,fr,es,it}/train-{tatoeba,news,stsb-mt,tldr}.tsv.gz
#   WORK   keeps the text
# Of each kind 500 English sentences to learn from, and up to 300 of each language to measure on, none of which is a translation
# of one that was learned.
set -euo pipefail
[ $# -ge 4 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2/parallel work=$3
shift 3
mkdir -p "$work"

rows() { # LANGUAGE COLUMN MAX FILE: sentences and their classes, without those whose English stands in FILE
  local class
  for class in tatoeba news stsb-mt tldr; do
    awk -F '\t' -v OFS='\t' -v column="$2" -v max="$3" -v class="$class" '
      FILENAME == ARGV[1] { learned[$1]; next }
      FNR % 2 && !($1 in learned) && !seen[$1]++ && n++ < max { print $column, class }' "$4" \
      <(gzip -dc "$data/en-$1/train-$class.tsv.gz")
  done
}
rows de 1 500 /dev/null >"$work/learn.tsv"
rows de 1 300 "$work/learn.tsv" >"$work/en.tsv"
tests=("en=$work/en.tsv")
for language in de fr es it; do
  rows "$language" 2 300 "$work/learn.tsv" >"$work/$language.tsv"
  tests+=("$language=$work/$language.tsv")
done
for model in "$@"; do
  echo "## $(basename "$model")"
  "$program" eval classify --model "$model" --threads "${THREADS:-2}" --train "$work/learn.tsv" "${tests[@]}"
done
