#!/usr/bin/env bash
# Several languages in one student by calque extend, with FreeDict's dictionaries: docs/results/extend.md, "Seven languages
# with one command".
#
#   bench/together.sh PROGRAM DATA TEACHER WORK LANGUAGE...      languages as two letters: de fr es ru ar hi zh
#
#   DATA   holds parallel/en-XX/{train-*,dev-ntrex,test-{tatoeba,ntrex,flores}}.tsv.gz and sts/
#   WORK   keeps packages, dictionaries and the model (WORK/together); called again, an interrupted training is resumed
#   STEPS  2200: of training, 64 pairs each; OPTIONS: further options of extend
#
# A dev set is every fourth row of dev-ntrex. Accuracy is the mean of both directions in percent, STS Spearman's rho times 100.
set -euo pipefail
[ $# -ge 5 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 work=$4
shift 4
. "$(dirname "$0")/freedict.sh"

text=()
for l in "$@"; do
  freedict "$l"
  for file in "$data/parallel/en-$l"/train-*.tsv.gz; do text+=(--to "$l=$file"); done
  [ ! -s "$work/$l.dict.tsv" ] || text+=(--dictionary "$l=$work/$l.dict.tsv")
  gzip -dc "$data/parallel/en-$l/dev-ntrex.tsv.gz" | awk 'NR % 4 == 1' >"$work/$l.dev.tsv"
  text+=(--dev "$l=$work/$l.dev.tsv")
done
# shellcheck disable=SC2086
[ -d "$work/together" ] || "$program" extend "$teacher" "${text[@]}" --steps "${STEPS:-2200}" --cache "$work/cache" --resume \
  -o "$work/together" ${OPTIONS:-} >"$work/together.log" 2>&1 || [ $? -eq 3 ] # 3: no better than before training

sts() { # FILE: its correlation, or nothing
  [ ! -f "$1" ] || "$program" eval sts --model "$work/together" "$1" 2>/dev/null | awk 'NR == 2 { printf "%.1f", $3 }'
}
echo "| language | tatoeba | ntrex | flores | STS-B | STS-B with English | STS 2017 | STS 2017 with English |"
echo "|---|---:|---:|---:|---:|---:|---:|---:|"
for l in "$@"; do
  printf '| %s' "$l"
  for set in tatoeba ntrex flores; do
    "$program" eval translation --model "$work/together" "$data/parallel/en-$l/test-$set.tsv.gz" 2>/dev/null |
      awk 'NR == 2 { printf " | %.1f", $5 }'
  done
  if [ -f "$data/sts/stsb-$l-test.tsv.gz" ]; then
    paste <(gzip -dc "$data/sts/stsb-en-test.tsv.gz" | cut -f 1) <(gzip -dc "$data/sts/stsb-$l-test.tsv.gz" | cut -f 2,3) \
      >"$work/en-$l.sts.tsv"
  fi
  echo " | $(sts "$data/sts/stsb-$l-test.tsv.gz") | $(sts "$work/en-$l.sts.tsv") | $(sts "$data/sts/sts17-$l-$l.tsv") |" \
    "$(sts "$data/sts/sts17-$l-en.tsv") |"
done
