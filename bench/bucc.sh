#!/usr/bin/env bash
# Bitext mining in BUCC's layout: the threshold tuned on train, F1 on test, by margin and by plain cosine.
#
#   bench/bucc.sh PROGRAM DATA WORK MODEL LANGUAGE...
#
#   DATA   holds XX-en/XX-en.{train,test}.{XX.gz,en.gz,gold}
#   WORK   keeps vectors and pairs
#   THREADS, FIRST_PASS (int8), K in the environment change the run
set -euo pipefail
[ $# -ge 5 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 work=$3 model=$4
shift 4
mkdir -p "$work"
for language in "$@"; do
  folder=$data/$language-en
  for margin in ratio absolute; do
    files=()
    for set in train test; do
      pairs=$work/$language-$set-$margin.tsv
      "$program" mine --model "$model" --cache "$work/cache" --threads "${THREADS:-2}" --first-pass "${FIRST_PASS:-int8}" \
        --k "${K:-4}" --margin $margin --text --output "$pairs" \
        "$folder/$language-en.$set.$language.gz" "$folder/$language-en.$set.en.gz" 2>>"$work/log"
      files+=("$folder/$language-en.$set.gold" "$pairs")
    done
    echo "## $language-en, margin $margin"
    "$program" eval bucc --curve "$work/$language-$margin.svg" "${files[@]}"
  done
done
