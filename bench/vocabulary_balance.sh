#!/usr/bin/env bash
# How the vocabulary's text is best divided between languages (calque extend --vocab-balance), by untrained students.
#
#   bench/vocabulary_balance.sh PROGRAM DATA TEACHER WORK LANGUAGE...      languages as two letters: de fr es ru ar hi zh
#
#   DATA      holds parallel/en-XX/{train-*,dev-ntrex}.tsv.gz
#   WORK      keeps the students; what is there is not made again
#   BALANCES  "0 0.35 0.7 1"
#   VOCAB     64000: pieces
#
# One row a balance, as Markdown: accuracy on dev-ntrex (percent, mean of both directions) of each language, and their mean.
set -euo pipefail
shopt -s inherit_errexit
[ $# -ge 5 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
shift 4
. "$(dirname "$0")/tables/markdown.sh"

mkdir -p "$work"
text=() dev=()
for language in "$@"; do
  for file in "$data/parallel/en-$language"/train-*.tsv.gz; do text+=(--to "$language=$file"); done
  dev+=("$language=$data/parallel/en-$language/dev-ntrex.tsv.gz")
done
gzip -dc "${dev[0]#*=}" | sed -n 1,20p >"$work/few.tsv" # one step must be measured on something

heading balance "$@" mean
for balance in ${BALANCES:-0 0.35 0.7 1}; do
  student=$work/balance-$balance
  # A step at no rate: 3, the student as it began.
  [ -d "$student" ] || "$program" extend "$teacher" "${text[@]}" --vocab-balance "$balance" --vocab-size "${VOCAB:-64000}" --steps 1 \
    --lr 1e-12 --embedding-lr 1e-12 --dev "$1=$work/few.tsv" --cache "$work/cache" -o "$student" 2>"$student.log" || [ $? -eq 3 ]
  found=$("$program" eval translation --quiet --csv --model "$student" "${dev[@]}" | awk -F , 'NR > 1 { printf "%.1f\n", 100 * $5 }')
  mapfile -t cells <<<"$found"
  row "$balance" "${cells[@]}"
done
