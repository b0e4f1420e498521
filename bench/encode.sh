#!/bin/bash
# Encoding speed, memory and start-up, calque against sentence-transformers f32 at its best setting, in one run.
#   bench/encode.sh BUILD VENV DATA [MODEL [THREADS]]
# BUILD is calque's build folder (its program and shared library are used). Wants an otherwise idle machine.
set -eu
build=${1:?usage: encode.sh BUILD VENV DATA [MODEL [THREADS]]} venv=$2 data=$3
here=$(cd "$(dirname "$0")" && pwd)
model=$("$here/peers/setup.sh" "$venv")
model=${4:-$model}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "# $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs), $(nproc) processors; load $(cut -d' ' -f1-3 /proc/loadavg)"
for kind in short long; do
  "$venv/bin/python" "$here/peers/texts.py" $kind "$data" "$work/$kind"
  "$venv/bin/python" "$here/peers/encode_bench.py" "$build/calque" "$build/src/libcalque.so" "$model" "$work/$kind" $kind "${5:-2}"
done
