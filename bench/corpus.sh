#!/usr/bin/env bash
# How fast parallel text is converted and cleaned, and in how much memory: figures of docs/notes/speed-log.md.
#
#   bench/corpus.sh PROGRAM WORK [MILLIONS]      MILLIONS of pairs for dedup and pivot (default 10); WORK takes 250 MB for each
#
# Text is made: sentences of words of a few letters, French ones with accents, a tenth of the pairs repeated. Each line: what,
# MB/s of input as one core reads it (user and system time), seconds, maximum resident memory in MB.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(realpath -e "$1") work=$2 millions=${3:-10}
mkdir -p "$work"
cd "$work"

make_pairs() { # N: the same at every call
  awk -v n="$1" 'BEGIN {
    x = 7
    for (i = 0; i < 4096; i++) {
      w = ""; for (k = 2 + i % 7; k > 0; k--) { x = x * 16807 % 2147483647; w = w sprintf("%c", 97 + x % 26) }
      en[i] = w; fr[i] = i % 5 ? w "e" : w "é"
    }
    for (i = 0; i < n; i++) {
      if (i % 10 < 9) { a = b = ""; for (k = 5 + i % 9; k > 0; k--) { x = x * 16807 % 2147483647; a = a en[x % 4096] " "; b = b fr[x % 4096] " " } }
      print a "no. " i - i % 10 "\t" b "n° " i - i % 10
    }
  }'
}

measure() { # WHAT FILE COMMAND...
  local what=$1 file=$2 bytes
  shift 2
  bytes=$(stat -c %s "$file")
  /usr/bin/time -f '%U %S %e %M' -o timed "$program" data "$@" -o /dev/null 2>said
  awk -v what="$what" -v bytes="$bytes" '{ printf "| %s | %.0f | %.1f | %.0f |\n", what, bytes / 1e6 / ($1 + $2), $3, $4 / 1024 }' timed
}

[ -s pairs.tsv ] || { make_pairs $((millions * 1000000)) >tmp && mv tmp pairs.tsv; }
[ -s one.tsv ] || {
  head -n 1000000 pairs.tsv >one.tsv
  cut -f 1 one.tsv >one.en && cut -f 2 one.tsv >one.fr
  awk -F '\t' '{ print "1." NR % 100 "\t" $0 }' one.tsv >one.scored
  awk -F '\t' '{ printf "<tu><tuv xml:lang=\"en\"><seg>%s</seg></tuv><tuv xml:lang=\"fr\"><seg>%s</seg></tuv></tu>\n", $1, $2 }
    BEGIN { print "<tmx><body>" } END { print "</body></tmx>" }' one.tsv >one.tmx
  gzip -k one.tsv
  cat one.en one.fr >both
}
echo "| what | MB/s a core | seconds | MB |"
echo "|---|---:|---:|---:|"
measure "convert moses" both convert --from moses one.en one.fr
measure "convert tsv" one.tsv convert --from tsv one.tsv
measure "convert wikimatrix" one.scored convert --from wikimatrix one.scored
measure "convert tmx" one.tmx convert --from tmx --columns en,fr one.tmx
measure "convert tsv, gzipped (of what it unpacks to)" one.tsv convert --from tsv one.tsv.gz
measure "filter --languages" one.tsv filter --languages en,fr one.tsv
measure "sample 50,000" one.tsv sample --rows 50000 one.tsv
measure "dedup of $millions million" pairs.tsv dedup pairs.tsv
measure "dedup --by any of $millions million" pairs.tsv dedup --by any pairs.tsv
measure "pivot of $millions million with themselves, 1 GiB" pairs.tsv pivot --max-partners 1 pairs.tsv pairs.tsv
