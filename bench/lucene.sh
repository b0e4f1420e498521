#!/bin/bash
# Indexing and searching words, calque beside Lucene, in turn in one run, on a synthetic collection and on a real one.
#
#   bench/lucene.sh BUILD [DATA]
#
#   BUILD   calque's build folder (its program and bench/bench_zipf_collection are used)
#   DATA    holds vaswani/{doc-text.trec.gz,query-text.trec,qrels} and stopwords/en.txt; without it, no real collection
#
# In the environment: WORK keeps Lucene, collection and indexes (calque-lucene in $TMPDIR or /tmp; 1.5 GB), RELEASES of Lucene ("9";
# 9, 8, 4), DOCUMENTS (200000), THREADS (2), ROUNDS (2), HEAP (4g), RAM_MB of Lucene's buffer (1024), LONG and SHORT (500 and 1000
# queries), REPEATS (5 passes after 3 untimed). TSV on standard output: load, side, what, figure, value. Wants an otherwise idle machine.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$1 data=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-${TMPDIR:-/tmp}/calque-lucene} threads=${THREADS:-2} documents=${DOCUMENTS:-200000} repeats=${REPEATS:-5}
program=$build/calque
collection=$work/zipf-$documents
mkdir -p "$work"

lucene() { # RELEASE ARGUMENT... with options of Java in the array options
  local path
  path=$("$here/peers/lucene_setup.sh" "$work/lucene" "$1")
  java -Xms"${HEAP:-4g}" -Xmx"${HEAP:-4g}" "${options[@]}" -cp "$path" LuceneBench "${@:2}" 2>>"$work/log"
}
rows() { # SIDE WHAT: figures on standard input as rows
  awk -v head="$(cut -d' ' -f1 /proc/loadavg)	$1	$2" '{ print head "\t" $0 }'
}
map() { # QRELS RUN
  "$program" eval retrieval --complete --measure map --measure P_10 "$1" "$2" | awk '{ print $1 "\t" $3 }'
}

# Ours. Texts of the synthetic collection are analyzed already: words stand between white space, nothing is stopped or stemmed.
ours_index() { # COLLECTION INDEX
  local begin end
  rm -rf "$2"
  begin=$(date +%s.%N)
  "$program" lexical build "$2" "$1" --threads "$threads" 2>>"$work/log"
  end=$(date +%s.%N)
  awk -v s="$(echo "$end $begin" | awk '{ print $1 - $2 }')" -v n="$documents" -v b="$(stat -c %s "$1")" \
    'BEGIN { printf "seconds\t%.2f\ndocuments/s\t%.0f\nMB/s\t%.1f\n", s, n / s, b / s / 1e6 }'
  printf 'index_bytes\t%s\n' "$(du -sb "$2" | cut -f 1)"
}
ours_search() { # INDEX TOPICS.tsv MODEL K
  "$build/bench/bench_lexical" "$1" "$2" "${3/#dirichlet/dirichlet-lucene}" "$4" "$threads" "$repeats" |
    sed -E 's/.*best ([0-9]+) a second, median ([0-9]+), ([0-9.]+) processor.*/best_queries\/s\t\1\nmedian_queries\/s\t\2\nprocessor_ms\t\3/'
  "$program" lexical run "$1" "$2" --model "${3/#dirichlet/dirichlet-lucene}" --top "$4" --threads "$threads" >"$work/run-ours"
  map "$collection/qrels" "$work/run-ours"
}

if [ ! -e "$collection/qrels" ]; then
  mkdir -p "$collection"
  zipf() { "$build/bench/bench_zipf_collection" --documents "$documents" "$@"; }
  zipf >"$collection/docs.trec" 2>"$collection/figures"
  zipf --queries "${LONG:-500}" >"$collection/long.tsv"
  zipf --queries "${SHORT:-1000}" --terms 3 >"$collection/short.tsv"
  zipf --qrels "${SHORT:-1000}" >"$collection/part"
  mv "$collection/part" "$collection/qrels"
fi
echo "# $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs), $(nproc) processors, $threads threads; load $(cut -d' ' -f1-3 /proc/loadavg)"
sed 's/^/# collection\t/' "$collection/figures"

releases=${RELEASES:-9}
for round in $(seq "${ROUNDS:-2}"); do
  for release in $releases; do
    options=(-Dpasses=2) # the first pass warms up
    lucene "$release" index "$work/index-$release" "$collection/docs.trec" "$threads" "${RAM_MB:-1024}" merge | rows "lucene $release" index
  done
  ours_index "$collection/docs.trec" "$work/index-ours" | rows calque index
  while read -r topics model k; do
    for release in $releases; do
      for pruned in true false; do
        [ "$release-$pruned" != 4-true ] || continue
        options=(-Dpruned=$pruned -Dwarm=3)
        run=$work/run-$release
        { lucene "$release" search "$work/index-$release" "$collection/$topics.tsv" "$model" "$k" "$threads" "$repeats" "$run"
          map "$collection/qrels" "$run"; } | rows "lucene $release" "$topics $model top $k pruned=$pruned"
      done
    done
    ours_search "$work/index-ours" "$collection/$topics.tsv" "$model" "$k" | rows calque "$topics $model top $k"
  done <<'END'
long dirichlet 1000
long dirichlet 10
long bm25 1000
long bm25 10
short dirichlet 1000
short dirichlet 10
short bm25 10
END
done

[ -n "$data" ] || exit 0
vaswani=$data/vaswani
for release in $releases; do
  for stem in false true; do
    analysis=(-Dstandard=true "-Dstop=$data/stopwords/en.txt" -Dstem=$stem)
    options=("${analysis[@]}" -Dwarm=0)
    lucene "$release" index "$work/vaswani-$release" "$vaswani/doc-text.trec.gz" "$threads" 256 merge >/dev/null
    for model in dirichlet bm25 bm25:0.9,0.4; do
      lucene "$release" search "$work/vaswani-$release" "$vaswani/query-text.trec" $model 1000 "$threads" 1 "$work/run" >/dev/null
      map "$vaswani/qrels" "$work/run" | rows "lucene $release" "vaswani stem=$stem $model"
    done
    # The same words for ours: the collection and the topics as Lucene analyses them.
    options=("${analysis[@]}")
    lucene "$release" analyze "$vaswani/doc-text.trec.gz" >"$work/vaswani-stem-$stem.trec"
    lucene "$release" analyze-topics "$vaswani/query-text.trec" >"$work/vaswani-stem-$stem.tsv"
    rm -rf "$work/vaswani-ours"
    "$program" lexical build "$work/vaswani-ours" "$work/vaswani-stem-$stem.trec" 2>>"$work/log"
    for model in dirichlet-lucene bm25 "bm25 --k1 0.9 --b 0.4"; do
      "$program" lexical run "$work/vaswani-ours" <(sed 's/\^[0-9.]*//g' "$work/vaswani-stem-$stem.tsv") --model $model >"$work/run-ours"
      map "$vaswani/qrels" "$work/run-ours" | rows calque "vaswani stem=$stem $model"
    done
  done
done
