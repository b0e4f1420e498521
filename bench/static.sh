#!/bin/bash
# Static models (the mean of word-piece vectors) on one thread beside model2vec and sentence-transformers, in turn.
#   bench/static.sh BUILD VENV DATA MODEL...
# MODEL is a directory with a StaticEmbedding alone, as `calque model new --kind static` makes; 20,000 sentences of all
# languages in DATA. Ours: processor time of `encode`, starting taken off, in f32 and of the model in int8 rows.
set -euo pipefail
build=${1:?usage: static.sh BUILD VENV DATA MODEL...} venv=$2 data=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
"$here/peers/setup.sh" "$venv" >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$venv/bin/python
"$python" -c 'import model2vec' 2>/dev/null || "$venv/bin/pip" install --quiet model2vec >&2
"$python" "$here/peers/texts.py" agree "$data" "$work/texts" 20000 >/dev/null
for i in 1 2 3 4 5; do cat "$work/texts"; done >"$work/five" # ours is too fast for one
head -n 1 "$work/texts" >"$work/one"
echo "# $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs); load $(cut -d' ' -f1-3 /proc/loadavg)"
seconds() { # MODEL TEXTS
  local TIMEFORMAT="%U %S"
  { time "$build/calque" encode --replace --threads 1 --model "$1" --output "$work/timed.bin" "$2" 2>/dev/null; } 2>&1 |
    awk '{ print $1 + $2 }'
}
for model in "$@"; do
  "$build/calque" model quantize "$model" --replace -o "$work/int8" 2>/dev/null
  "$build/calque" encode --replace --model "$model" --output "$work/ours.npy" "$work/texts" 2>/dev/null
  for ((round = 0; round < ${ROUNDS:-3}; round++)); do
    line=
    for m in "$model" "$work/int8"; do line="$line $(seconds "$m" "$work/one") $(seconds "$m" "$work/five")"; done
    for peer in model2vec sentence-transformers; do
      line="$line $("$python" "$here/peers/static_peer.py" "$peer" "$model" "$work/texts" "$work/$peer.npy" 2>/dev/null)"
    done
    echo "$line"
  done | awk -v model="$(basename "$model")" '
    { a = ($2 - $1) / 5; b = ($4 - $3) / 5; m[NR] = $5 / a; s[NR] = $6 / a; f = f ? (a < f ? a : f) : a; q = q ? (b < q ? b : q) : b
      if (NR == 1 || $5 < p) p = $5; if (NR == 1 || $6 < t) t = $6 }
    END { printf "%s: calque f32 %.3f s, int8 rows %.3f s; model2vec %.3f s, %.1f times calque f32; sentence-transformers %.3f s, %.1f times\n",
          model, f, q, p, p / f, t, t / f }'
  "$python" - "$work" <<'P'
import sys
import numpy as np
x = np.load(f"{sys.argv[1]}/ours.npy")
for peer in ("model2vec", "sentence-transformers"):
    y = np.load(f"{sys.argv[1]}/{peer}.npy")
    print(f"  largest difference to {peer}: {np.abs(x - y).max():.2g}")
P
done
