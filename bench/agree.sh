#!/bin/bash
# calque's vectors beside sentence-transformers', on sentences of every language of a data folder.
#   bench/agree.sh CALQUE VENV DATA [MODEL [N]]
# CALQUE is the built program; VENV the peer environment (made when it is not there); MODEL a directory (all-MiniLM-L6-v2).
# Fails unless every cosine is at least 0.99999.
set -eu
calque=${1:?usage: agree.sh CALQUE VENV DATA [MODEL [N]]} venv=$2 data=$3
here=$(cd "$(dirname "$0")" && pwd)
model=$("$here/peers/setup.sh" "$venv")
model=${4:-$model}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$venv/bin/python" "$here/peers/texts.py" agree "$data" "$work/texts" "${5:-2000}"
"$venv/bin/python" "$here/peers/encode_peer.py" "$model" "$work/texts" "$work/peer.npy" 2>/dev/null
"$calque" encode --replace --model "$model" --output "$work/calque.npy" "$work/texts"
"$venv/bin/python" "$here/peers/agree.py" "$work/calque.npy" "$work/peer.npy" "$work/texts"
