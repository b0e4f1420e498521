#!/usr/bin/env bash
# All languages of DATA in the vector space of a model of English: a student with layers.
#
#   bench/hundred.sh PROGRAM DATA TEACHER WORK
#
#   DATA   holds parallel/en-XX/{train-*,test-{tatoeba,ntrex,flores}}.tsv.gz
#   WORK   as for scripts/prepare-models, and keeps the model (WORK/hundred) and what was measured; called again, the
#          script continues where it stopped
#   STEPS  8000, of 128 pairs
#
#   models/calque-base ──linear map to the teacher's space──▶ distillation on translations ──▶ WORK/hundred
#
# Text: help pages, handbooks and messages of free software (scripts/fetch-text, by way of scripts/select-text), all that
# there is where that is little; the sentences of DATA have 0.7 of a file's weight each. Prints a table, as Markdown: pairs,
# translation accuracy with English (percent, mean of both directions), and "index": how often an English sentence of ntrex,
# encoded by the teacher, comes first for its translation, encoded by the student (hits@1, percent). The last rows are means
# of all languages and of those of bench/forty.sh.
set -euo pipefail
shopt -s inherit_errexit
[ $# -eq 4 ] || { sed -n '2,17s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
here=$(cd "$(dirname "$0")" && pwd)
threads=${THREADS:-2}
. "$here/tables/markdown.sh"
. "$here/tables/languages.sh"
forty='ar bg bn ca cs da de el eo es et fa fi fr he hi hu id it ja ka ko lt lv mk mr ms nb pl pt ro ru sk sl sv th uk ur
vi zh'
mapfile -t languages < <(find "$data/parallel" -maxdepth 1 -name 'en-*' -printf '%f\n' | sort | sed 's/^en-//')

"$here/../scripts/prepare-models" "$program" "$data" "$work"
mkdir -p "$work/hundred-text"
train=()
for language in "${languages[@]}"; do
  text=$work/hundred-text/$language.tsv many=$work/text/many/$language.tsv
  if [ ! -f "$text" ]; then
    if [ "$(wc -l 2>/dev/null <"$many" || echo 0)" -ge 10000 ]; then
      files=("$many" "$data/parallel/en-$language"/train-{news,multi30k,stsb-mt,indian,partut}.tsv.gz)
    else
      files=("$data/parallel/en-$language"/train-*.tsv.gz "$work"/fetched/text/*/"en-$language.tsv.gz")
    fi
    for file in "${files[@]}"; do [ ! -f "$file" ] || gzip -dcf "$file"; done | cut -f 1,2 | LC_ALL=C sort -u >"$text.new"
    mv "$text.new" "$text"
  fi
  [ ! -s "$text" ] || train+=(--train "$language=$text:1")
  for file in "$data/parallel/en-$language"/train-{tatoeba,tico,news}.tsv.gz; do
    [ ! -f "$file" ] || train+=(--train "$language=$file:0.7")
  done
done
[ -d "$work/hundred-start" ] ||
  "$program" model quantize "$here/../models/calque-base" --precision f16 --output "$work/hundred-start"
[ -d "$work/hundred" ] ||
  "$program" distill --teacher "$teacher" --student "$work/hundred-start" --output "$work/hundred" "${train[@]}" \
    --dim-match fit --steps "${STEPS:-8000}" --batch 128 --lr 1e-4 --embedding-lr 1.5e-4 --schedule cosine --warmup 0.05 \
    --contrast 4 --final-contrast 1 --source-share 0.3 --precision bf16 --evaluate-every 0 --checkpoint-every 500 \
    --cache "$work/cache" --threads "$threads" --skip-bad --resume

model=$work/hundred
for set in tatoeba ntrex flores; do
  [ -s "$model.$set.csv" ] || of_all "$set" "$program" eval translation --precision bf16 --model "$model" >"$model.$set.csv"
done
[ -s "$model.index.csv" ] ||
  of_all ntrex "$program" eval search --precision bf16 --model "$model" --documents "$teacher" >"$model.index.csv"
of_these() { # CSV COLUMN LANGUAGE...: the mean
  awk -F , -v want=" ${*:3} " -v column="$2" 'index(want, " " $1 " ") { sum += $column; n++ }
    END { if (n) printf "%.1f", 100 * sum / n; else printf "—" }' "$1"
}
heading language pairs tatoeba ntrex flores index
for language in "${languages[@]}"; do
  cells=("$(wc -l <"$work/hundred-text/$language.tsv")")
  for set in tatoeba ntrex flores; do cells+=("$(percent_of "$language" 5 "$model.$set.csv")"); done
  row "$language" "${cells[@]}" "$(percent_of "$language" 3 "$model.index.csv")"
done
for which in "${languages[*]}" "$forty"; do
  cells=()
  for set in tatoeba ntrex flores; do cells+=("$(of_these "$model.$set.csv" 5 $which)"); done
  row "mean of $(wc -w <<<"$which")" '' "${cells[@]}" "$(of_these "$model.index.csv" 3 $which)"
done
