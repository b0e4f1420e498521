#!/usr/bin/env bash
# From a dictionary to parallel text: a student made from a dictionary mines translations in two piles of text that nobody has
# aligned, a student is trained on them, and mines again. docs/guides/dictionary.md.
#
#   bench/bootstrap.sh PROGRAM DATA TEACHER WORK LANGUAGE...      after bench/dictionaries.sh with the same WORK
#
#   DATA           holds parallel/en-XX/train-*.tsv.gz: their columns, sorted each by itself, are the two piles; which line
#                  translates which is used to count the mined pairs that are right, and for nothing else; and
#                  bucc-style/XX-en/, where there is one: the last column is F1 (percent) of mining there, on test, by margin, with
#                  the threshold of train
#   KINDS          of text in the piles, train-KIND.tsv.gz: "news tatoeba", say; all
#   ROUNDS         2
#   STEPS          600: of training
#   OPTIONS        more of extend's, for example "--contrast 1"
#   MIN_PRECISION  "0.7 0.6": of each round, the last one of all further ones; as calque mine estimates it, which is too low where
#                  a text says many things twice
set -euo pipefail
[ $# -ge 5 ] || { sed -n '2,17s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
shift 4
read -ra min_precision <<<"${MIN_PRECISION:-0.7 0.6}"

files() { # LANGUAGE: of the piles
  local kind
  [ -n "${KINDS:-}" ] || { ls "$data/parallel/en-$1"/train-*.tsv.gz; return; }
  for kind in $KINDS; do ls "$data/parallel/en-$1/train-$kind.tsv.gz"; done
}

mined() { # LANGUAGE MODEL SET: makes MODEL.bucc-SET.tsv, and prints it
  local out=$2.bucc-$3.tsv folder=$data/bucc-style/$1-en
  [ -s "$out" ] || "$program" mine --quiet --replace --model "$2" --cache "$work/cache" --margin ratio --first-pass int8 --output "$out" \
    "$folder/$1-en.$3.$1.gz" "$folder/$1-en.$3.en.gz" || exit 1
  echo "$out"
}

score() { # LANGUAGE MODEL: ntrex | tatoeba | flores | F1
  local set gold=$data/bucc-style/$1-en/$1-en train test
  for set in ntrex tatoeba flores; do
    "$program" eval translation --model "$2" "$data/parallel/en-$1/test-$set.tsv.gz" 2>/dev/null | awk 'NR == 2 { printf " | %.1f", $5 }'
  done
  if [ -f "$gold.train.gold" ]; then
    train=$(mined "$1" "$2" train)
    test=$(mined "$1" "$2" test)
    "$program" eval bucc --csv "$gold.train.gold" "$train" "$gold.test.gold" "$test" | awk -F , 'NR == 3 { printf " | %.1f", 100 * $8 }'
  else
    printf ' | '
  fi
  echo ' |'
}

echo "| language, round | pairs | precision, estimated | precision | recall | ntrex | tatoeba | flores | BUCC-style |"
echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
for l in "$@"; do
  files "$l" | xargs gzip -dc | cut -f 1,2 | LC_ALL=C sort -u >"$work/$l.gold"
  cut -f 1 "$work/$l.gold" | LC_ALL=C sort -u >"$work/$l.pile.en"
  cut -f 2 "$work/$l.gold" | LC_ALL=C sort -u >"$work/$l.pile"
  printf '| %s, from the dictionary | | | | ' "$l"
  score "$l" "$work/$l"
  model=$work/$l
  for ((round = 1; round <= ${ROUNDS:-2}; round++)); do
    next=$work/$l-round-$round
    precision=${min_precision[round - 1]:-${min_precision[-1]}}
    if [ ! -d "$next" ]; then
      "$program" mine --replace --model "$model" --cache "$work/cache" --min-precision "$precision" "$work/$l.pile.en" "$work/$l.pile" \
        -o "$next.mined.tsv" 2>"$next.log"
      "$program" data convert --from wikimatrix --threshold 0 "$next.mined.tsv" -o "$next.pairs.tsv" 2>>"$next.log"
      "$program" extend "$teacher" --to "$l=$next.pairs.tsv" --dictionary "$l=$work/$l.dict.tsv" --text "$l=$work/$l.txt" \
        --steps "${STEPS:-600}" ${OPTIONS:-} --cache "$work/cache" --resume -o "$next" >>"$next.log" 2>&1 || [ $? -eq 3 ] # no better
    fi
    estimate=$(sed -n 's/.*estimated precision of //p' "$next.log" | head -n 1)
    n=$(wc -l <"$next.pairs.tsv") all=$(wc -l <"$work/$l.gold")
    right=$(LC_ALL=C sort -u "$next.pairs.tsv" | LC_ALL=C comm -12 - "$work/$l.gold" | wc -l)
    printf '| %s, round %d | %d | %s | %s' "$l" "$round" "$n" "$estimate" \
      "$(awk -v r="$right" -v n="$n" -v a="$all" 'BEGIN { printf "%.2f | %.2f", r / n, r / a }')"
    score "$l" "$next"
    model=$next
  done
done
