#!/bin/bash
# MAP of BM25 by the analysis of text: none, that of several languages (mul), and each language's own; and of one index of all
# languages' documents, searched in each language.
#
#   bench/lexical_languages.sh PROGRAM DATA/clir
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(realpath "$1") data=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
map() { # INDEX LANGUAGE OF THE TOPICS
  "$program" lexical run --model bm25 --top 1000 "$1" "$data/topics.$2.xml" >"$work/run" 2>/dev/null
  printf '\t%s' "$("$program" eval retrieval --complete "$data/qrels.$2.txt" "$work/run" | awk '$1 == "map" { print $NF }')"
}
printf 'language\tnone\tmul\town\tone index: none\tmul\n'
for code in none mul; do
  "$program" lexical build "$work/all-$code" $([ $code = none ] || echo --language $code) "$data"/docs.??.trec 2>/dev/null
done
for language in ar de en es hi ru; do
  printf '%s' $language
  for code in none mul $language; do
    rm -rf "$work/index"
    "$program" lexical build "$work/index" $([ $code = none ] || echo --language $code) "$data/docs.$language.trec" 2>/dev/null
    map "$work/index" $language
  done
  for code in none mul; do map "$work/all-$code" $language; done
  printf '\n'
done
