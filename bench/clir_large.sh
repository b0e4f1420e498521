#!/bin/bash
# Time and memory of cross-lingual retrieval on generated collections of FIRE's size, in two "languages".
#   bench/clir_large.sh BUILD WORK
# In the environment: DOCUMENTS of each language (100000), TOPICS (50), THREADS (2). One fold of five is held out.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$1 work=$2 documents=${DOCUMENTS:-100000} topics=${TOPICS:-50} threads=${THREADS:-2}
calque=$build/calque
mkdir -p "$work"
seed=1
for language in aa bb; do
  zipf() { "$build/bench/bench_zipf_collection" --documents "$documents" --seed $seed "$@"; }
  [ -s "$work/qrels.$language" ] || {
    zipf >"$work/docs.$language" 2>/dev/null
    zipf --queries "$topics" --terms 3 >"$work/topics.$language"
    zipf --qrels "$topics" >"$work/qrels.$language"
  }
  seed=$((seed + 1))
done
sources=(--languages aa,bb --docs "$work/docs.%" --topics "$work/topics.%" --qrels "$work/qrels.%")
between=(--from aa --to bb --hold-out 1)
measure() { # NAME COMMAND...
  local name=$1
  shift
  /usr/bin/time -f "$name	%e s	%M KiB" "$@" 2>&1 >/dev/null | tail -n 1
}
measure "index of one language" "$calque" lexical build "$work/index.$$" "$work/docs.bb" --threads "$threads"
rm -rf "$work/index.$$"
measure "vectors, by length" "$calque" clir build "$work/v.txt" "${sources[@]}" --hold-out 1 --threads "$threads"
measure "vectors, at random" "$calque" clir build "$work/w.txt" "${sources[@]}" --mix at-random --kappa 0 --hold-out 1 --threads "$threads"
measure "reading all and searching, terms" "$calque" clir run "$work/v.txt" "${sources[@]}" "${between[@]}" --threads "$threads"
measure "reading all and searching, documents" "$calque" clir run "$work/w.txt" "${sources[@]}" "${between[@]}" --method documents --threads "$threads"
measure "words spelled alike" "$calque" clir run "${sources[@]}" "${between[@]}" --method cognates --threads "$threads"
