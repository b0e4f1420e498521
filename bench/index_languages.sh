#!/usr/bin/env bash
# An English index, made by the teacher, asked in other languages by its student: docs/guides/your-english-index.md.
#
#   bench/index_languages.sh PROGRAM DATA TEACHER STUDENT LANGUAGE...      languages as two letters: de fr es ...
#
#   DATA   holds parallel/en-XX/test-{flores,ntrex}.tsv.gz, clir/{docs.en.trec,topics.XX.xml,qrels.en.txt}
#   WORK   in the environment: where indexes and runs are kept (a new directory, removed at the end)
#
# Two tables, as Markdown. First, sentences: how often the English sentence itself comes first for its translation, and the
# mean reciprocal rank (x 100). Second, questions about English passages: MAP (x 100) of the topics in each language that
# DATA/clir has, beside the same topics in English, by the teacher and by the student; "share" is of the teacher's own MAP in
# English. All languages have the same topics and the same judgements, which are of English documents. (Spanish ones may stand
# here: what the collections of Spanish and English share is text of documents, and no Spanish document is read.)
set -euo pipefail
shopt -s inherit_errexit
[ $# -ge 5 ] || { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 data=$2 teacher=$3 student=$4
shift 4
threads=${THREADS:-2}
if [ -n "${WORK:-}" ]; then mkdir -p "$WORK"; work=$WORK; else work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT; fi
. "$(dirname "$0")/tables/markdown.sh"
. "$(dirname "$0")/tables/languages.sh"
languages=("$@")

index=$work/english.index
english_index() {
  [ ! -d "$index" ] || return 0
  awk '/<DOCNO>/ { gsub(/<[^>]*>| /, ""); id = $0 } /<TEXT>/ { inside = 1; text = ""; next } /<\/TEXT>/ { inside = 0; print id "\t" text }
    inside { gsub(/\t/, " "); text = text (text == "" ? "" : " ") $0 }' "$data/clir/docs.en.trec" >"$work/docs.tsv"
  rm -rf "$index.new"
  "$program" index new --quiet --model "$teacher" "$index.new"
  "$program" index add --quiet --threads "$threads" --ids "$index.new" "$work/docs.tsv"
  mv "$index.new" "$index"
}

mean_average_precision() { # MODEL LANGUAGE: of the topics in that language
  sed -n 's/^<title>\(.*\)<\/title>.*/\1/p' "$data/clir/topics.$2.xml" >"$work/topics.txt"
  sed -n 's/^<num>\(.*\)<\/num>.*/\1/p' "$data/clir/topics.$2.xml" >"$work/numbers.txt"
  "$program" search --quiet --threads "$threads" --query-model "$1" --top 1000 --queries "$work/topics.txt" "$index" >"$work/hits.txt"
  awk -F '\t' 'FNR == NR { number[NR] = $1; next } /^# / { n++; rank = 0; next }
    NF >= 4 { rank++; print number[n], "Q0", $2, rank, 1 / rank, "index" }' "$work/numbers.txt" "$work/hits.txt" >"$work/run.txt"
  "$program" eval retrieval --quiet --complete --measure map "$data/clir/qrels.en.txt" "$work/run.txt" | awk '{ printf "%.1f", 100 * $3 }'
}

heading "queries in" "flores, hits@1 %" "MRR" "ntrex, hits@1 %" "MRR"
for set in flores ntrex; do
  of_all $set "$program" eval search --model "$student" --documents "$teacher" >"$work/$set.csv"
done
for language in "$@" average; do
  cells=()
  for set in flores ntrex; do
    for column in 3 5; do cells+=("$(percent_of "$language" $column "$work/$set.csv")"); done
  done
  row "$language" "${cells[@]}"
done
[ -f "$data/clir/docs.en.trec" ] || exit 0
english_index
own=$(mean_average_precision "$teacher" en)
share() { awk -v a="$1" -v b="$own" 'BEGIN { printf "%.0f", 100 * a / b }'; }
echo
heading "topics in" "encoded by" "MAP x100" "share %"
row English "the teacher" "$own" 100
for language in en "$@"; do
  [ -f "$data/clir/topics.$language.xml" ] || continue
  found=$(mean_average_precision "$student" "$language")
  row "$language" "the student" "$found" "$(share "$found")"
done
