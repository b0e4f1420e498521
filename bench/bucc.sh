#!/usr/bin/env bash
# Bitext mining in BUCC's layout: the threshold tuned on train, F1 on test, by margin, by plain cosine, and by a classifier of
# pairs that is learned on train. Then what --min-precision gives on test, which asks no gold standard, beside the truth.
#
#   bench/bucc.sh PROGRAM DATA WORK MODEL LANGUAGE...
#
#   DATA   holds XX-en/XX-en.{train,test}.{XX.gz,en.gz,gold}
#   WORK   keeps vectors and pairs
#   THREADS, FIRST_PASS (int8), K in the environment change the run
#   LEAVE_OUT="FEATURE..."  features that the classifier learns without
#   CLASSIFIER=FILE  one that was learned elsewhere, instead (calque mine --save-classifier)
set -euo pipefail
[ $# -ge 5 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 work=$3 model=$4
shift 4
mkdir -p "$work"
mine() { # LANGUAGE SET NAME OPTION...: pairs into WORK/LANGUAGE-SET-NAME.tsv
  "$program" mine --replace --model "$model" --cache "$work/cache" --threads "${THREADS:-2}" --first-pass "${FIRST_PASS:-int8}" \
    --k "${K:-4}" --text --output "$work/$1-$2-$3.tsv" "${@:4}" \
    "$data/$1-en/$1-en.$2.$1.gz" "$data/$1-en/$1-en.$2.en.gz" 2>>"$work/log"
}
measure() { # LANGUAGE NAME
  local gold=$data/$1-en/$1-en
  echo "## $1-en, $2"
  "$program" eval bucc --curve "$work/$1-$2.svg" "$gold.train.gold" "$work/$1-train-$2.tsv" "$gold.test.gold" "$work/$1-test-$2.tsv"
}
left_out=()
for feature in ${LEAVE_OUT:-}; do left_out+=(--leave-out "$feature"); done
for language in "$@"; do
  for margin in ratio absolute; do
    for set in train test; do mine "$language" $set $margin --margin $margin; done
    measure "$language" $margin
  done
  if [ -n "${CLASSIFIER:-}" ]; then
    mine "$language" train classifier --classifier "$CLASSIFIER"
  else
    mine "$language" train classifier --learn-from "$data/$language-en/$language-en.train.gold" \
      --save-classifier "$work/$language.json" "${left_out[@]}"
  fi
  mine "$language" test classifier --classifier "${CLASSIFIER:-$work/$language.json}"
  measure "$language" classifier
  echo "## $language-en, --min-precision"
  printf 'asked\tpairs\tright\tprecision %%\trecall %%\n'
  for asked in 0.9 0.8 0.7 0.6 0.5; do
    mine "$language" test "precision-$asked" --margin ratio --min-precision $asked
    awk -F '\t' -v asked=$asked 'FNR == NR { gold[$1, $2]; all++; next } { n++; right += ($2, $3) in gold }
      END { printf "%s\t%d\t%d\t%.1f\t%.1f\n", asked, n, right, n ? 100 * right / n : 0, 100 * right / all }' \
      "$data/$language-en/$language-en.test.gold" "$work/$language-test-precision-$asked.tsv"
  done
done
