#!/usr/bin/env bash
# Forty languages in one model, from short public texts and FreeDict's dictionaries.
#
#   bench/forty.sh PROGRAM DATA TEACHER WORK [LANGUAGE...]      languages as two letters; none: all of DATA/parallel/en-XX
#
#   DATA   holds parallel/en-XX/{train-*,test-{tatoeba,ntrex,flores}}.tsv.gz; a train-dict.tsv.gz is taken as a dictionary
#   WORK   keeps packages, dictionaries and models (WORK/forty-body, WORK/forty-static); called again, the script continues where
#          it stopped: an interrupted training is resumed
#   KINDS  "body static": the teacher's layers under a new vocabulary, and the mean of word vectors
#   STEPS  body 12000 of 64 pairs, static 15000 of 256, drawn from languages alike; VOCAB: what extend chooses
#   OPTIONS  more of extend's, for example "--contrast 1"
#
# One table a kind, as Markdown: training pairs, entries of dictionaries, translation accuracy (percent, mean of both
# directions), and "index": how often an English sentence of flores, encoded by the teacher, comes first for its translation,
# encoded by the student (hits@1, percent).
set -euo pipefail
shopt -s inherit_errexit
[ $# -ge 4 ] || { sed -n '2,17s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
shift 4
threads=${THREADS:-2}
. "$(dirname "$0")/freedict.sh"
. "$(dirname "$0")/tables/markdown.sh"
. "$(dirname "$0")/tables/languages.sh"
[ $# -gt 0 ] || set -- $(find "$data/parallel" -maxdepth 1 -name 'en-??' -printf '%f\n' | sort | sed 's/^en-//')
languages=("$@")

text=() # extend's options: translations and dictionaries of each language
declare -A n_pairs n_entries
for language in "$@"; do
  files=() dictionaries=()
  for file in "$data/parallel/en-$language"/train-*.tsv.gz; do
    case $file in
    *'*'*) ;; # none
    */train-dict.tsv.gz) dictionaries+=("$file") ;;
    *) files+=("$file") ;;
    esac
  done
  freedict "$language"
  [ ! -s "$work/$language.dict.tsv" ] || dictionaries+=("$work/$language.dict.tsv")
  for file in ${files[@]+"${files[@]}"}; do text+=(--to "$language=$file"); done
  for file in ${dictionaries[@]+"${dictionaries[@]}"}; do text+=(--dictionary "$language=$file"); done
  n_pairs[$language]=0 n_entries[$language]=0
  [ ${#files[@]} -eq 0 ] || n_pairs[$language]=$(gzip -dcf "${files[@]}" | wc -l)
  [ ${#dictionaries[@]} -eq 0 ] || n_entries[$language]=$(gzip -dcf "${dictionaries[@]}" | wc -l)
  [ ${#files[@]} -gt 0 ] || [ ${#dictionaries[@]} -gt 0 ] || { echo "$language: neither translations nor a dictionary" >&2; exit 1; }
done

first=yes
for kind in ${KINDS:-body static}; do
  model=$work/forty-$kind
  case $kind in
  body) steps=${STEPS:-12000} ;;
  static) steps=${STEPS:-15000} ;;
  *) echo "KINDS: there is no $kind" >&2; exit 2 ;;
  esac
  if [ ! -d "$model" ]; then
    "$program" extend "$teacher" "${text[@]}" --kind "$kind" --steps "$steps" ${VOCAB:+--vocab-size "$VOCAB"} --skip-bad ${OPTIONS:-} \
      --cache "$work/cache" --threads "$threads" --resume --output "$model" >&2 || [ $? -eq 3 ] # 3: no better than before training
  fi
  [ $first = yes ] || echo
  first=no
  for set in tatoeba ntrex flores; do of_all $set "$program" eval translation --model "$model" >"$model.$set.csv"; done
  of_all flores "$program" eval search --model "$model" --documents "$teacher" >"$model.index.csv"
  heading "$kind" pairs entries tatoeba ntrex flores index
  rows=$(for language in "${languages[@]}"; do
    cells=("${n_pairs[$language]}" "${n_entries[$language]}")
    for set in tatoeba ntrex flores; do cells+=("$(percent_of "$language" 5 "$model.$set.csv")"); done
    row "$language" "${cells[@]}" "$(percent_of "$language" 3 "$model.index.csv")"
  done)
  echo "$rows"
  awk -F ' *[|] *' '{ for (i = 3; i < NF; i++) if ($i != "—") { sum[i] += $i; n[i]++ } }
    END { printf "| mean |"; for (i = 3; i < NF; i++) printf i < 5 ? " %.0f |" : " %.1f |", n[i] ? sum[i] / n[i] : 0; print "" }' <<<"$rows"
done
