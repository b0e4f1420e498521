#!/bin/bash
# Tokenizers on one thread beside Hugging Face's (Rust), in turn, best of the rounds: millions of ids a second.
#   bench/tokenize.sh BUILD VENV DATA [DIRECTORY...]
# VENV is the peer environment (made when it is not there). Without DIRECTORY: WordPiece (all-MiniLM-L6-v2), and a
# unigram model, a BPE and a byte-level BPE of 32,000 pieces, trained on DATA's training text. "=": the same ids.
set -euo pipefail
build=${1:?usage: tokenize.sh BUILD VENV DATA [DIRECTORY...]} venv=$2 data=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
minilm=$("$here/peers/setup.sh" "$venv")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$venv/bin/python
if [ $# -eq 0 ]; then
  files=()
  for file in "$data"/parallel/en-{de,es,fr,ru,ar,hi}/train-{anki,tatoeba,news}.tsv.gz; do
    [ ! -e "$file" ] || files+=("$file")
  done
  for kind in unigram bpe; do
    "$build/calque" model new --kind static --vocabulary $kind --dim 8 $(printf -- '--text %s ' "${files[@]}") \
      --skip-bad "$work/$kind" 2>/dev/null
  done
  mkdir "$work/byte-level"
  gzip -dc "${files[@]}" | tr '\t' '\n' >"$work/all"
  "$python" "$here/peers/tokenize_peer.py" --train "$work/byte-level" "$work/all" 32000
  set -- "$minilm" "$work/unigram/0_StaticEmbedding" "$work/bpe/0_StaticEmbedding" "$work/byte-level"
fi
"$python" "$here/peers/texts.py" short "$data" "$work/short" >/dev/null
"$python" "$here/peers/texts.py" long "$data" "$work/long" >/dev/null
"$python" "$here/peers/texts.py" agree "$data" "$work/languages" 10000 >/dev/null
echo "# $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs)"
printf '%-24s %-10s %9s %9s %7s\n' tokenizer text ours peer ratio
for directory in "$@"; do
  for text in short long languages; do
    for ((round = 0; round < ${ROUNDS:-3}; round++)); do
      echo "$("$build/bench/bench_tokenize" "$directory" "$work/$text" 3)" \
        "$("$python" "$here/peers/tokenize_peer.py" "$directory" "$work/$text" 3)"
    done | awk -v name="$(basename "${directory%/0_StaticEmbedding}")" -v text="$text" '
      { if (!a || $4 < a) a = $4; if (!b || $8 < b) b = $8; same = $1 == $5 && $2 == $6 && $3 == $7; n = $2 }
      END { printf "%-24.24s %-10s %9.2f %9.2f %6.2fx %s\n", name, text, n / a / 1e6, n / b / 1e6, b / a, same ? "=" : "ids differ" }'
  done
done
