#!/usr/bin/env bash
# All languages of DATA in the vector space of a model of English: a student with layers, and its static twin.
#
#   bench/hundred.sh PROGRAM DATA TEACHER WORK
#
#   DATA   holds parallel/en-XX/{train-*,test-{tatoeba,ntrex,flores}}.tsv.gz
#   WORK   as for scripts/prepare-models, and keeps the models (WORK/hundred, WORK/hundred-static) and what was measured;
#          called again, the script continues where it stopped
#   STEPS, STATIC_STEPS  2800, of 128 pairs; 2500, of 2048
#
#   WORK/teacher, multilingual-e5-small ──linear map to TEACHER's space──▶ distillation on text ──▶ WORK/hundred
#   TEACHER ──its vectors of words, by word alignment of text──▶ distillation on text ──▶ WORK/hundred-static
#
# Text, with weights of its kinds: sentences of DATA; help pages, handbooks and messages of free software
# (scripts/fetch-text), all of it for the static twin, which learns tens of times as fast, and what scripts/select-text takes
# for the layers; English news and package descriptions without translations. Prints a table of each model, as Markdown: rows
# of the layers' text, translation accuracy with English (percent, mean of both directions), and "index": how often an English
# sentence of ntrex, encoded by the teacher, comes first for its translation, encoded by the student (hits@1, percent). The
# last rows are means of all languages and of "the forty", those of bench/forty.sh.
set -euo pipefail
shopt -s inherit_errexit nullglob
[ $# -eq 4 ] || { sed -n '2,20s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
here=$(cd "$(dirname "$0")" && pwd)
threads=${THREADS:-2}
. "$here/tables/markdown.sh"
. "$here/tables/languages.sh"
forty='ar bg bn ca cs da de el eo es et fa fi fr he hi hu id it ja ka ko lt lv mk mr ms nb pl pt ro ru sk sl sv th uk ur
vi zh'
kinds=(news:1.4 stsb-mt:0.6 multi30k:0.6 tico:0.5 tldr:0.25 indian:1 tatoeba:0.3)
mapfile -t languages < <(find "$data/parallel" -maxdepth 1 -name 'en-*' -printf '%f\n' | sort | sed 's/^en-//')

"$here/../scripts/prepare-models" "$program" "$data" "$work"
HELD_OUT="$data/parallel/*/[dt]e*-*.tsv.gz" "$here/../scripts/fetch-text" --copyleft \
  --sources descriptions,finance,games,gnome-programs "$work/copyleft"
english() { # OUT SHORTEST FILE...: different English sides, shuffled
  [ -s "$1" ] || gzip -dcf "${@:3}" | cut -f 1 | awk -v shortest="$2" 'length($0) >= shortest && length($0) <= 250' |
    LC_ALL=C sort -u | shuf --random-source=<(yes) >"$1"
}
english "$work/hundred-news.txt" 20 "$data"/parallel/en-*/train-{news,tico,tldr,stsb-mt,multi30k,indian}.tsv.gz
english "$work/hundred-descriptions.txt" 40 "$work"/copyleft/text/descriptions/en-*.tsv.gz

declare -A files # of each language
sentences=() text=() static_text=() aligned=()
for kind in "${kinds[@]}"; do
  for file in "$data"/parallel/en-*/train-"${kind%:*}".tsv.gz; do
    language=$(basename "$(dirname "$file")" | sed 's/^en-//')
    files[$language]+=" $file"
    static_text+=(--train "$language=$file:${kind#*:}") aligned+=(--text "$language=$file")
    case $kind in news:* | tico:* | tatoeba:*) sentences+=(--train "$language=$file") ;; esac
  done
done
text=("${static_text[@]}")
for file in "$work"/text/many/*.tsv; do
  language=$(basename "$file" .tsv)
  files[$language]+=" $file"
  text+=(--train "$language=$file:0.28")
done
all=$work/hundred-text aligned_rows=60000 # of each language
mkdir -p "$all"
for language in "${languages[@]}"; do
  fetched=("$work"/{fetched,copyleft}/text/*/"en-$language".tsv.gz)
  [ ${#fetched[@]} -gt 0 ] || continue
  if [ ! -s "$all/$language.tsv" ]; then
    gzip -dcf "${fetched[@]}" | cut -f 1,2 | LC_ALL=C sort -u | shuf --random-source=<(yes) >"$all/$language.part"
    head -n "$aligned_rows" "$all/$language.part" >"$all/$language-aligned.tsv"
    mv "$all/$language.part" "$all/$language.tsv"
  fi
  static_text+=(--train "$language=$all/$language.tsv:0.28") aligned+=(--text "$language=$all/$language-aligned.tsv")
done
only_english=(--source-text "en=$work/hundred-news.txt:14" --source-text "descriptions=$work/hundred-descriptions.txt:5")

distill() { # STUDENT OUTPUT OPTION...
  [ -d "$2" ] ||
    "$program" distill --teacher "$teacher" --student "$1" --output "$2" --balanced --precision bf16 --evaluate-every 0 \
      --skip-bad --cache "$work/cache" --threads "$threads" --resume "${@:3}"
}
# The map alone: at this rate, nothing else changes.
distill "$work/teacher" "$work/hundred-start" "${sentences[@]}" --max-sentences 4000 --dim-match fit --steps 130 --lr 1e-9 \
  --embedding-lr 1e-9 --contrast 1 --source-share 0.3
distill "$work/hundred-start" "$work/hundred" "${text[@]}" "${only_english[@]}" --steps "${STEPS:-2800}" --batch 128 --lr 1.5e-4 \
  --embedding-lr 1e-4 --schedule cosine --warmup 0.05 --contrast 4 --final-contrast 1 --hard-negatives 4 \
  --source-share 0.3 --checkpoint-every 200
[ -d "$work/hundred-rows" ] ||
  "$program" model new --kind static --from "$teacher" --vocab-size 600000 --fold-variants "${aligned[@]}" \
    "$work/hundred-rows"
distill "$work/hundred-rows" "$work/hundred-static" "${static_text[@]}" "${only_english[@]}" --steps "${STATIC_STEPS:-2500}" \
  --batch 2048 --lr 0.03 --schedule cosine --weight-decay 0 --eps 1e-9 --contrast 30 --source-share 0.2

of_these() { # CSV COLUMN LANGUAGE...: the mean
  awk -F , -v want=" ${*:3} " -v column="$2" 'index(want, " " $1 " ") { sum += $column; n++ }
    END { if (n) printf "%.1f", 100 * sum / n; else printf "—" }' "$1"
}
for model in "$work/hundred" "$work/hundred-static"; do
  for set in tatoeba ntrex flores; do
    [ -s "$model.$set.csv" ] || of_all "$set" "$program" eval translation --precision bf16 --model "$model" >"$model.$set.csv"
  done
  [ -s "$model.index.csv" ] ||
    of_all ntrex "$program" eval search --precision bf16 --model "$model" --documents "$teacher" >"$model.index.csv"
  [ "$model" = "$work/hundred" ] || echo
  heading "$(basename "$model")" rows tatoeba ntrex flores index
  for language in "${languages[@]}"; do
    cells=("$(gzip -dcf ${files[$language]-} </dev/null | wc -l)")
    for set in tatoeba ntrex flores; do cells+=("$(percent_of "$language" 5 "$model.$set.csv")"); done
    row "$language" "${cells[@]}" "$(percent_of "$language" 3 "$model.index.csv")"
  done
  for which in "${languages[*]}" "$forty"; do
    cells=()
    for set in tatoeba ntrex flores; do cells+=("$(of_these "$model.$set.csv" 5 $which)"); done
    row "mean of $(wc -w <<<"$which")" '' "${cells[@]}" "$(of_these "$model.index.csv" 3 $which)"
  done
done
