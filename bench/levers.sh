#!/usr/bin/env bash
# What each of extend's choices is worth for a language with little text: docs/notes/2026-11-choices.md, "What each choice is worth".
#
#   bench/levers.sh PROGRAM DATA TEACHER WORK LANGUAGE...      languages as two letters: ar hu tr ...
#
#   DATA   holds parallel/en-XX/{train-*,dev-ntrex}.tsv.gz; dictionaries are FreeDict's
#   WORK   keeps packages, dictionaries, models and their logs
#   STEPS  200: of training, 64 pairs each
#
# One choice more in each row: accuracy on dev-ntrex (percent, mean of both directions) and MSE of English before training, the
# same after it.
set -euo pipefail
[ $# -ge 5 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
shift 4
. "$(dirname "$0")/freedict.sh"

row() { # LANGUAGE NAME WHAT OPTION...: trains WORK/LANGUAGE-NAME, and prints what its log says
  local language=$1 name=$1-$2 what=$3 files=() file dev=$data/parallel/en-$1/dev-ntrex.tsv.gz
  shift 3
  for file in "$data/parallel/en-$language"/train-*.tsv.gz; do files+=(--to "$language=$file"); done
  [ -d "$work/$name" ] || "$program" extend "$teacher" "${files[@]}" --dictionary "$language=$work/$language.dict.tsv" \
    --dev "ntrex=$dev" --steps "${STEPS:-200}" --cache "$work/cache" --resume -o "$work/$name" "$@" >"$work/$name.log" 2>&1 ||
    [ $? -eq 3 ] # no better than before training
  awk -v what="$language: $what" '$1 == "ntrex" && NF == 7 { n++; a[n] = ($2 + $3) / 2; mse[n] = $6 }
    END { printf "| %s | %.1f | %.3f | %.1f | %.3f |\n", what, a[1], mse[1], a[n], mse[n] }' "$work/$name.log"
}

echo "| | before training | MSE of English | after it | MSE of English |"
echo "|---|---:|---:|---:|---:|"
for l in "$@"; do
  freedict "$l"
  none=(--keep-variants --drop-words --piece-dropout 0 --gloss-share 0)
  row "$l" squared "translations and dictionary" "${none[@]}" --contrast 0 --source-share 1
  row "$l" contrast "a contrastive loss" "${none[@]}" --contrast 1 --hard-negatives 0 --source-share 1
  row "$l" negatives "hard negatives" "${none[@]}" --contrast 1 --source-share 1
  row "$l" sources "a quarter of the sources" "${none[@]}" --contrast 1
  row "$l" variants "spelling variants as one" --contrast 1 --drop-words --piece-dropout 0 --gloss-share 0
  row "$l" words "the teacher's words kept" --contrast 1 --piece-dropout 0 --gloss-share 0
  row "$l" dropout "piece dropout" --contrast 1 --gloss-share 0
  row "$l" glosses "glosses beside translations" --contrast 1
  row "$l" falling "a weight of the contrastive loss that falls from 4 to 1"
done
