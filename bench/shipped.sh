#!/usr/bin/env bash
# Measures a model on every test file: translation accuracy with English in 81 languages, and STS.
#
#   bench/shipped.sh PROGRAM MODEL DATA WORK [OPTION...]      options of calque eval: --prompt "query: " --precision bf16
#   bench/shipped.sh compare WORK WORK...                     their means side by side
#   bench/shipped.sh speed PROGRAM DATA MODEL...              sentences a second, one thread, and times those of the last
#
# WORK keeps what was measured; called again, it continues with what is missing. Means are of "the 38", the languages of
# calque-small's first version, and of the others in DATA.
set -euo pipefail
shopt -s inherit_errexit
[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
. "$(dirname "$0")/tables/markdown.sh"
first='ar bg bn ca cs da de el eo es et fa fi fr he hi hu id it ja ka ko lt lv mk mr ms nb pl pt ro ru sk sl sv th uk ur vi zh'
files=(translation/ntrex translation/flores translation/tatoeba sts/stsb sts/sts17)

mean() { # WORK SET the38|others|NAME...
  awk -F, -v want="$3" -v first=" $first " '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == "mean" || $i == "spearman") column = i; next }
    $1 == "average" { next }
    { is_first = index(first, " " $1 " ") > 0
      if (want == "the38" ? is_first : want == "others" ? !is_first : index(" " want " ", " " $1 " ")) {
        sum += $column; n++ } }
    END { if (n) printf "%.1f", 100 * sum / n }' "$1/$2.csv"
}

if [ "$1" = compare ]; then
  shift
  heading 'mean' "${@##*/}"
  for set in ntrex flores tatoeba; do
    for which in the38 others; do
      cells=()
      for work in "$@"; do cells+=("$(mean "$work" "$set" $which)"); done
      row "$set, ${which/the38/the 38}" "${cells[@]}"
    done
  done
  for which in 'stsb:en' 'stsb:de es fr it ru zh' 'sts17:ar-en es-en' 'sts17:ar-ar en-en es-es'; do
    cells=()
    for work in "$@"; do cells+=("$(mean "$work" "${which%%:*}" "${which#*:}")"); done
    row "${which%%:*} ${which#*:}" "${cells[@]}"
  done
  exit
fi

if [ "$1" = speed ]; then
  program=$2 data=$3
  shift 3
  text=$(mktemp)
  trap 'rm -f "$text" "$text".*' EXIT
  for language in de es ru zh ar; do
    zcat "$data/parallel/en-$language/test-tatoeba.tsv.gz" | awk -F '\t' 'NR <= 300 { print $1; print $2 }'
  done >"$text"
  head -n 20 "$text" >"$text.few" # to take the start of the process off
  seconds() { # MODEL TEXT
    local begin=$EPOCHREALTIME
    "$program" encode --model "$1" --threads 1 --quiet --output "$text.npy" --replace "$2"
    awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'
  }
  for round in 1 2 3 4 5; do # side by side: a noisy machine slows all alike
    for model in "$@"; do echo "$model $(seconds "$model" "$text") $(seconds "$model" "$text.few")"; done
  done | awk -v n="$(wc -l <"$text")" '
    { s = $2 - $3; if (!($1 in best)) order[++m] = $1; if (!($1 in best) || s < best[$1]) best[$1] = s }
    END { for (i = 1; i <= m; i++)
      printf "%s: %.0f sentences/s, %.2f times\n", order[i], (n - 20) / best[order[i]], best[order[m]] / best[order[i]] }'
  exit
fi

program=$1 model=$2 data=$3 work=$4
shift 4
mkdir -p "$work"
for kind in "${files[@]}"; do
  set=${kind#*/} labeled=()
  [ ! -f "$work/$set.csv" ] || continue
  case $set in
    stsb) for file in "$data"/sts/stsb-??-test.tsv.gz; do name=${file##*/stsb-}; labeled+=("${name%-test*}=$file"); done ;;
    sts17) for file in "$data"/sts/sts17-??-??.tsv; do name=${file##*/sts17-}; labeled+=("${name%.tsv}=$file"); done ;;
    *) for file in "$data"/parallel/en-*/test-"$set".tsv.gz; do name=${file%/*}; labeled+=("${name##*/en-}=$file"); done ;;
  esac
  "$program" eval "${kind%/*}" --model "$model" --quiet --csv "$@" "${labeled[@]}" >"$work/$set.new"
  mv "$work/$set.new" "$work/$set.csv"
done
if [ ! -f "$work/typed.csv" ]; then # as people type
  labeled=()
  for language in de es ru ko; do labeled+=("$language=$data/parallel/en-$language/test-tatoeba.tsv.gz"); done
  "$program" eval translation --perturb lower,upper,accents,nfd,hyphen,punctuation --max-rows 500 --model "$model" --quiet \
    --csv "$@" "${labeled[@]}" >"$work/typed.new"
  mv "$work/typed.new" "$work/typed.csv"
fi
