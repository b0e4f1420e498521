#!/usr/bin/env bash
# Everyday questions in eight languages about short documents in many: sample/questions.tsv.
#
#   bench/questions.sh PROGRAM MODEL [OPTION...]      options of calque search: --ranking hybrid
#   QUESTIONS=sample/dev/questions.tsv ...            those for choices, of which only the answered ones count
#
# Indexes sample/documents and sample/library, searches each for its questions, and prints a table of hits at 1, 3
# and 10: for how many questions in a hundred a document that answers comes first, among the first three, among the
# first ten. A question counts as of the same language when one of its answers is in its language, which file names
# begin with. The two collections have half of the questions each, and all eight languages as many.
set -euo pipefail
shopt -s inherit_errexit
[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 model=$2
shift 2
threads=${THREADS:-2}
sample=$(realpath "$(dirname "$0")/../sample")
file=${QUESTIONS:-$sample/questions.tsv}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/tables/markdown.sh"

for collection in documents library; do
  index=$work/$collection.index
  awk -F '\t' -v collection=$collection '$3 == collection && $5 != "-"' "$file" >"$work/questions.tsv"
  [ -s "$work/questions.tsv" ] || continue
  "$program" index new --quiet --model "$model" "$index"
  "$program" index add --quiet --threads "$threads" --relative "$index" "$sample/$collection"
  cut -f 4 "$work/questions.tsv" >"$work/queries.txt"
  "$program" search --quiet --threads "$threads" --top 10 --queries "$work/queries.txt" "$@" "$index" >"$work/hits.txt"
  awk -F '\t' 'NR == FNR { language[NR] = $2; answers[NR] = " " $5 " "; collection = $3; next }
    /^# / { rank = 0; n++; first[n] = 11; next }
    NF { rank++; if (first[n] > 10 && index(answers[n], " " $2 " ")) first[n] = rank }
    END { for (i = 1; i <= n; i++) {
      kind = index(answers[i], " " language[i] "-") ? "same" : "other"
      print language[i], collection, kind, first[i] } }
    ' "$work/questions.tsv" "$work/hits.txt" >>"$work/ranks.txt"
done

hits() { # NAME WORD: the row of the questions whose line has that word
  local cells
  [ "$2" = all ] || grep -qw "$2" "$work/ranks.txt" || return 0
  read -ra cells <<<"$(awk -v word="$2" '
    word == "all" || $1 == word || $2 == word || $3 == word { n++; for (k = 1; k <= 10; k++) hit[k] += $4 <= k }
    END { printf "%d %.1f %.1f %.1f\n", n, 100 * hit[1] / n, 100 * hit[3] / n, 100 * hit[10] / n }' "$work/ranks.txt")"
  row "$1" "${cells[@]}"
}
heading questions number 'hits at 1' 'at 3' 'at 10'
for language in en de es fr ru zh ar ko; do hits $language $language; done
hits 'an answer in the same language' same
hits 'answers in other languages only' other
hits 'sample/documents' documents
hits 'sample/library' library
hits all all
