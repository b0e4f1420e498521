#!/bin/bash
# Word vectors, calque beside gensim and the original word2vec, in turn in one run: words read a second, and the loss of what they learned.
#   bench/words.sh BUILD [TEXT]
#   TEXT  a document a line; without it, a generated one of TOKENS words (1000000)
# In the environment: WORK keeps gensim's environment and the text (calque-words in $TMPDIR or /tmp), WINDOWS ("5 25"), THREADS (2), ROUNDS
# (2), WORD2VEC (the original program; without it, it is left out), SEEDS of the losses ("1 2 3"). Wants an otherwise idle machine.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$1 text=${2-}
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-${TMPDIR:-/tmp}/calque-words} threads=${THREADS:-2}
mkdir -p "$work"
[ -x "$work/venv/bin/python" ] || { python3 -m venv "$work/venv" && "$work/venv/bin/pip" -q install gensim==4.4.0; }
if [ -z "$text" ]; then
  text=$work/zipf.txt
  [ -s "$text" ] || "$build/bench/bench_zipf_text" "${TOKENS:-1000000}" >"$text"
fi
gensim() { "$work/venv/bin/python" "$here/peers/gensim_bench.py" "$text" "$@"; }

echo "# load $(cut -d' ' -f1-3 /proc/loadavg), $threads threads, $(wc -w <"$text") words"
for round in $(seq "${ROUNDS:-2}"); do
  for window in ${WINDOWS:-5 25}; do
    "$build/bench/bench_words" "$text" "$threads" "$window"
    for mode in file iterable; do gensim --mode $mode --threads "$threads" --window "$window"; done
    [ -z "${WORD2VEC-}" ] || "$work/venv/bin/python" "$here/peers/word2vec_bench.py" "$WORD2VEC" "$text" --threads "$threads" --window "$window"
  done
done

# The same loss for all, by one program: five epochs, one thread, so that nothing depends on chance but the seed.
for seed in ${SEEDS:-1 2 3}; do
  options=(--window 5 --epochs 5 --seed "$seed")
  "$build/calque" words train "$text" "$work/v.txt" "${options[@]}" --threads 1 --state "$work/ours-$seed" 2>/dev/null
  "$build/calque" words train "$text" "$work/v.txt" "${options[@]}" --threads "$threads" --state "$work/ours-threads-$seed" 2>/dev/null
  "$build/calque" words train "$text" "$work/v.txt" "${options[@]}" --threads "$threads" --share-negatives --state "$work/ours-shared-$seed" 2>/dev/null
  gensim --mode iterable --threads 1 --window 5 --epochs 5 --seed "$seed" --save "$work/gensim-$seed" >/dev/null
  "$build/calque" words loss "$text" "$work"/{ours,ours-threads,ours-shared,gensim}-"$seed" --window 5
done
