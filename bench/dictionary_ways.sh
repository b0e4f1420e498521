#!/usr/bin/env bash
# How a dictionary and sentences are combined best, by untrained students.
#
#   bench/dictionary_ways.sh PROGRAM DATA TEACHER WORK LANGUAGE...      languages as two letters: ar hu tr ...
#
#   DATA   holds parallel/en-XX/{train-*,dev-ntrex,test-flores}.tsv.gz and en-de/train-*; dictionaries are FreeDict's
#   WORK   keeps packages, dictionaries and students
#   VOCAB  44000: pieces
#   ROWS   names of rows, "text forms names", say; all
#
# Translation accuracy, percent, mean of both directions.
set -euo pipefail
[ $# -ge 5 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
shift 4
. "$(dirname "$0")/freedict.sh"

row() { # LANGUAGE NAME WHAT FILE[:WEIGHT]...: of the vocabulary's text; all files of one language are aligned as one
  [[ " ${ROWS:-$2} " == *" $2 "* ]] || return 0
  local student=$work/$1-$2 what="$1: $3" files=("${@:4}") folder=$data/parallel/en-$1 set
  [ -d "$student" ] || "$program" model new --threads "${THREADS:-2}" --from "$teacher" --fold-variants --keep-words --lowercase \
    --vocab-size "${VOCAB:-44000}" "${files[@]/#/--text=}" "$student" 2>"$student.log"
  printf '| %s' "$what"
  for set in dev-ntrex test-flores; do
    "$program" eval translation --threads "${THREADS:-2}" --model "$student" "$folder/$set.tsv.gz" 2>/dev/null |
      awk 'NR == 2 { printf " | %.1f", $5 }'
  done
  echo ' |'
}

echo "| | dev-ntrex | flores |"
echo "|---|---:|---:|"
for l in "$@"; do
  freedict "$l"
  words=$work/$l.dict.tsv
  gzip -dc "$data/parallel/en-$l"/train-*.tsv.gz | cut -f 1,2 >"$work/$l.pairs.tsv"
  cat "$work/$l.pairs.tsv" "$words" >"$work/$l.both.tsv"
  awk -F '\t' '!seen[$2]++' "$words" >"$work/$l.first.tsv"
  awk -F '\t' '$1 !~ / / && $2 !~ / /' "$words" >"$work/$l.single.tsv"
  [ -s "$work/en.txt" ] || gzip -dc "$data"/parallel/en-de/train-*.tsv.gz | cut -f 1 | sort -u >"$work/en.txt"
  [ -s "$work/$l.glosses.tsv" ] || "$program" data gloss --quiet --dictionary "$words" --text "$work/$l.pairs.tsv" --min-known 0.6 \
    "$work/en.txt" -o "$work/$l.glosses.tsv"
  pairs=$work/$l.pairs.tsv text=$work/$l.txt forms=$work/$l.forms.tsv names=$work/$l.names.tsv
  [ -s "$text" ] || cut -f 2 "$pairs" | sort -u >"$text"
  [ -s "$forms" ] || "$program" data inflect --quiet --text "$text" "$words" -o "$forms"
  [ -e "$names" ] || "$program" data transliterate --quiet --text "$work/en.txt" "$words" -o "$names"
  row "$l" pairs "the pairs alone" "$l=$pairs"
  row "$l" words "the dictionary alone" "$l=$words"
  row "$l" text "the dictionary, and untranslated text for the vocabulary" "$l=$words" "$l=$text:4"
  row "$l" forms "and the inflected forms that the text has" "$l=$words" "$l=$forms" "$l=$text:4"
  row "$l" names "and names of English text in the language's letters" "$l=$words" "$l=$forms" "$l=$names" "$l=$text:4"
  row "$l" both "one file of both" "$work/$l.both.tsv"
  row "$l" apart "two files, each aligned by itself" "pairs=$pairs" "words=$words"
  for weight in 1 4 16; do row "$l" "weight-$weight" "two files aligned as one, pairs $weight times" "$l=$pairs:$weight" "$l=$words"; done
  row "$l" first "pairs 4 times, of each entry one translation" "$l=$pairs:4" "$l=$work/$l.first.tsv"
  row "$l" glosses "pairs 4 times, the dictionary, and English sentences glossed with it" "$l=$pairs:4" "$l=$words" \
    "$l=$work/$l.glosses.tsv"
  row "$l" single "pairs 4 times, words alone, no phrases" "$l=$pairs:4" "$l=$work/$l.single.tsv"
  row "$l" pairs-forms "pairs 4 times, the dictionary, and inflected forms" "$l=$pairs:4" "$l=$words" "$l=$forms"
done
