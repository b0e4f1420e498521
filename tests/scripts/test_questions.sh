#!/usr/bin/env bash
# sample/questions.tsv names documents that are there and has as many questions in each language; every document of the
# sample is clean text.
#
#   bash tests/scripts/test_questions.sh PROGRAM SOURCE_DIR
set -euo pipefail
export LC_ALL=C
cd "$2/sample"
failed=0
fail() { echo "FAILED: $*" >&2; failed=1; }

mistakes=$(awk -F '\t' '
  NR == 1 { if ($0 != "id\tlanguage\tcollection\tquestion\tanswers") print "heading"; next }
  NF != 5 { print "line " NR ": not five columns"; next }
  $1 !~ "^" $2 "-[0-9][0-9]$" || ids[$1]++ { print "id " $1 }
  texts[$4]++ || $4 ~ /^[ #]|^$| $/ { print $1 ": text" }
  $3 !~ /^(documents|library)$/ { print $1 ": collection" }
  { number[$2 " " $3]++; split("", seen); n = split($5, file, " ")
    if (n == 0) print $1 ": no answer"
    for (i = 1; i <= n; i++) if (seen[file[i]]++) print $1 ": " file[i] " twice"; else print "file " $3 "/" file[i]
    for (i = 1; i <= n; i++) if (file[i] ~ "^" $2 "-") { same++; break } }
  END { for (i in number) { cells++; if (number[i] != 15) print number[i] " questions of " i }
    if (cells != 16) print cells " of 16 pairs of language and collection"
    if (same * 3 != NR - 1) print same " of " NR - 1 " questions have an answer in their language" }' questions.tsv |
  sort -u | while read -r first rest; do [ "$first" = file ] && [ -f "$rest" ] || echo "$first $rest"; done)
[ -z "$mistakes" ] || fail "questions.tsv: $mistakes"

# C1 controls, soft hyphen, zero-width and directional marks, byte order mark, replacement character
invisible=$'\xc2[\x80-\x9f\xad]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xef\xbb\xbf|\xef\xbf\xbd'
number=$(find library -type f | wc -l)
[ "$number" -eq 200 ] || fail "$number documents in library"
for file in questions.tsv library/* documents/*; do
  [[ $file = questions.tsv || $file =~ ^(library|documents)/[a-z]{2}-[a-z0-9-]+\.(md|txt)$ ]] || fail "$file: name"
  iconv -f UTF-8 -t UTF-16 "$file" >/dev/null 2>&1 || fail "$file: not UTF-8"
  ! tr -d '\n\t' <"$file" | grep -q '[[:cntrl:]]' || fail "$file: a control character"
  ! grep -qE "$invisible" "$file" || fail "$file: an invisible character"
  if [ ! -s "$file" ] || [ -n "$(tail -c 1 "$file")" ]; then fail "$file: no newline at its end"; fi
done
exit $failed
