#!/usr/bin/env bash
# Sentence splitting: F1 of sentences' ends beside pySBD, sentence-splitter, Bling Fire and PyThaiNLP's crfcut, and the
# speed on one thread.
#
#   bench/sentences.sh PROGRAM DATA [WORK]      WORK: keeps the Python environment of the peers
#
# DATA/splits/XX.dev.txt.gz: gold sentences, one a line (Universal Dependencies), joined by blanks, ja and zh by nothing.
set -euo pipefail
[ $# -ge 2 ] && [ $# -le 3 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(realpath "$1") data=$2 work=${3:-$(mktemp -d)}
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -d "$work/python" ]; then
  python3 -m venv "$work/python"
  "$work/python/bin/pip" install --quiet pysbd sentence-splitter blingfire pythainlp python-crfsuite numpy
fi
"$work/python/bin/python" "$here/peers/sentences.py" "$program" "$data"
for language in de ru th; do
  zcat "$data/splits/$language.dev.txt.gz" | tr '\n' ' ' >"$work/$language.txt"
  for _ in $(seq 6); do
    cat "$work/$language.txt"{,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,} >"$work/many"
    [ "$(stat -c %s "$work/many")" -lt 40000000 ] || break
    cp "$work/many" "$work/$language.txt"
  done
  # iconv fails for the character that head may cut
  head -c 40000000 "$work/many" | { iconv -c -f utf-8 -t utf-8 2>/dev/null || true; } >"$work/$language.txt"
  seconds=$({ TIMEFORMAT=%U; time "$program" data sentences --quiet --language "$language" "$work/$language.txt" >/dev/null; } 2>&1)
  awk -v l="$language" -v s="$seconds" -v n="$(stat -c %s "$work/$language.txt")" 'BEGIN { printf "speed\t%s\t%.1f MB/s\n", l, n / 1e6 / s }'
  rm -f "$work/many" "$work/$language.txt"
done
