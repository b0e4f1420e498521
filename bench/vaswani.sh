#!/bin/bash
# Rankings of the Vaswani (NPL) collection by every model, ours beside the plain loops of reference/golden_lexical.py, and their MAP.
#
#   bench/vaswani.sh DATA BUILD [STOP_WORDS]
#
#   DATA         holds doc-text.trec.gz, query-text.trec and qrels
#   BUILD        calque's build folder
#   STOP_WORDS   a word a line; DATA/../stopwords/en.txt
#
# TSV on standard output: model, MAP, lines of the runs, lines with another document than the reference's, maximum difference of a
# score. Exit 1 when a score differs by 1e-9 or more, or a document is another one without having the same score. Needs Python.
# Lucene 9's own MAP with the same stop words and Snowball's stems: 0.1956 dirichlet-lucene, 0.2772 bm25.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
data=$1 program=$(realpath "$2")/calque stop_words=${3:-$1/../stopwords/en.txt}
reference=$(cd "$(dirname "$0")/../reference" && pwd)/golden_lexical.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8

# One document or topic a line: id, tab, text.
plain() { # TAG OF THE ID
  awk -v tag="$1" '
    $0 ~ "<" tag ">" { id = $0; sub(".*<" tag "> *", "", id); sub(" *</" tag ">.*", "", id); text = ""; next }
    /^<\/(DOC|top)>/ { printf "%s\t%s\n", id, text; next }
    { gsub(/<[^>]*>/, " "); text = text " " $0 }
  '
}
analyzed() { # FILE OF LINES: the same with terms for text
  cut -f 1 "$1" >"$work/ids"
  cut -f 2 "$1" | "$program" lexical terms --language en --stop-words "$stop_words" | paste "$work/ids" -
}
gzip -dc "$data/doc-text.trec.gz" | plain DOCNO >"$work/documents"
plain num <"$data/query-text.trec" >"$work/topics"
analyzed "$work/documents" >"$work/documents.tsv"
analyzed "$work/topics" >"$work/topics.tsv"
python3 "$reference" "$work/documents.tsv" "$work/topics.tsv" "$work/expected"
"$program" lexical build "$work/index" --language en --stop-words "$stop_words" "$data/doc-text.trec.gz" 2>/dev/null

failed=0
for model in dirichlet dirichlet-lucene bm25 bm25-terrier; do
  "$program" lexical run "$work/index" "$data/query-text.trec" --model "$model" --top 1000 >"$work/run"
  map=$("$program" eval retrieval --complete --measure map "$data/qrels" "$work/run" | cut -f 3)
  paste -d ' ' "$work/run" "$work/expected/$model.txt" | awk -v model="$model" -v map="$map" '
    NF != 12 || $1 != $7 || $4 != $10 { bad++; next }
    { difference = $5 - $11; if (difference < 0) difference = -difference; if (difference > max) max = difference }
    $3 != $9 { others++; ours[$1, $3] = $5; theirs[$7, $9] = $11 }
    END {
      for (key in ours) bad += !(key in theirs) || ours[key] - theirs[key] > 1e-9 || theirs[key] - ours[key] > 1e-9
      printf "%s\t%s\t%d\t%d\t%.2g\n", model, map, NR, others, max
      exit bad || max >= 1e-9 || NR == 0
    }' || failed=1
done
exit $failed
