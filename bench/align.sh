#!/usr/bin/env bash
# Sentence alignment: F1 on Text+Berg, German and French, and the time for 20,000 x 20,000 sentences without encoding.
#
#   bench/align.sh PROGRAM DATA [MODEL [TEST]]     MODEL: by default calque-base
#
# DATA/align/text-berg/dev.{de,fr,defr}: the development document. TEST: a folder with test0.de, test0.fr, test0.defr ...
# (bleualign_data of github.com/thompsonb/vecalign); without it, development alone.
set -euo pipefail
[ $# -ge 2 ] && [ $# -le 4 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(realpath "$1") data=$2 model=${3:-calque-base} test=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
score() { # NAME STEM...: the documents STEM.de, STEM.fr
  local files=() stem name=$1
  shift
  for stem; do
    "$program" align --model "$model" --precision bf16 --quiet --lines --languages de,fr "$stem.de" "$stem.fr" \
      --output "$work/$(basename "$stem").beads"
    files+=("$stem.defr" "$work/$(basename "$stem").beads")
  done
  echo "$name, $model"
  python3 "$here/peers/beads.py" "${files[@]}"
}
score dev "$data/align/text-berg/dev"
[ -z "$test" ] || score test "$test"/test{0..6}
bench=$(dirname "$program")/bench/bench_align
[ ! -x "$bench" ] || "$bench" 20000
