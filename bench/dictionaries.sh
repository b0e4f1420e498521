#!/usr/bin/env bash
# Students of languages from FreeDict's dictionaries and untranslated text alone: docs/guides/dictionary.md.
#
#   bench/dictionaries.sh PROGRAM DATA TEACHER WORK LANGUAGE...      languages as two letters: de fi hu ...
#
#   DATA     holds parallel/en-XX/{train-*,test-*}.tsv.gz and sts/stsb-*-test.tsv.gz; of the training files one column is read
#   WORK     keeps packages, dictionaries and models; called again, the script continues where it stopped
#   STEPS    300: of training; English text is that of en-de, glossed
#   OPTIONS  more of extend's, for example "--contrast 1"
#
# Debian's packages dict-freedict-eng-deu, -deu-eng and so on are fetched with apt-get and unpacked, not installed.
set -euo pipefail
[ $# -ge 5 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
shift 4

. "$(dirname "$0")/freedict.sh"

[ -s "$work/en.txt" ] || gzip -dc "$data"/parallel/en-de/train-*.tsv.gz | cut -f 1 | sort -u >"$work/en.txt"
echo "| language | entries | lines of text | ntrex | tatoeba | flores | STS-B | STS-B en-XX |"
echo "|---|---:|---:|---:|---:|---:|---:|---:|"
for l in "$@"; do
  freedict "$l"
  training=("$data/parallel/en-$l"/train-*.tsv.gz) text=()
  [ -f "${training[0]}" ] || training=() # Slovak has none: its dictionary alone
  [ -e "$work/$l.txt" ] || cat /dev/null ${training[@]+"${training[@]}"} | gzip -dcf | cut -f 2 | sort -u >"$work/$l.txt"
  [ ! -s "$work/$l.txt" ] || text=(--text "$l=$work/$l.txt")
  [ -d "$work/$l" ] || "$program" extend "$teacher" --dictionary "$l=$work/$l.dict.tsv" ${text[@]+"${text[@]}"} \
    --text "$work/en.txt" --steps "${STEPS:-300}" ${OPTIONS:-} --cache "$work/cache" --resume -o "$work/$l" >"$work/$l.log" 2>&1 ||
    [ $? -eq 3 ] # no better than before training
  printf '| %s | %s | %s' "$l" "$(wc -l <"$work/$l.dict.tsv")" "$(wc -l <"$work/$l.txt")"
  for set in ntrex tatoeba flores; do
    file=$data/parallel/en-$l/test-$set.tsv.gz
    [ -f "$file" ] || { printf ' | —'; continue; }
    "$program" eval translation --model "$work/$l" "$file" 2>/dev/null | awk 'NR == 2 { printf " | %.1f", $5 }'
  done
  if [ -f "$data/sts/stsb-$l-test.tsv.gz" ]; then
    "$program" eval sts --model "$work/$l" "$data/sts/stsb-$l-test.tsv.gz" 2>/dev/null | awk 'NR == 2 { printf " | %.1f", $3 }'
    paste <(gzip -dc "$data/sts/stsb-en-test.tsv.gz" | cut -f 1) <(gzip -dc "$data/sts/stsb-$l-test.tsv.gz" | cut -f 2,3) \
      >"$work/en-$l.sts.tsv"
    "$program" eval sts --model "$work/$l" "$work/en-$l.sts.tsv" 2>/dev/null | awk 'NR == 2 { printf " | %.1f", $3 }'
  else
    printf ' | — | —'
  fi
  echo ' |'
done
