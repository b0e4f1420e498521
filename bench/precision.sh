#!/bin/bash
# Encoding in f32, bf16 and int8: what it loses and what it gains, side by side in one run.
#   bench/precision.sh PROGRAM VENV DATA [MODEL...]
# VENV is the peer environment (made when it is not there; its all-MiniLM-L6-v2 is the model when none is named). Losses:
# cosines to f32 of 10,000 sentences of all languages in DATA; STS benchmark, English, Spearman's rho; translation accuracy on
# en-de's tatoeba. Gains, in ROUNDS=5 rounds: processor seconds of encoding short sentences
# and texts of some 130 tokens on one thread, without starting, the three in turn; the median of the rounds' ratios.
set -euo pipefail
program=${1:?usage: precision.sh PROGRAM VENV DATA [MODEL...]} venv=$2 data=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- "$("$here/peers/setup.sh" "$venv")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$venv/bin/python
precisions="f32 bf16 int8"
"$python" "$here/peers/texts.py" agree "$data" "$work/agree.txt" 10000 >/dev/null
"$python" "$here/peers/texts.py" short "$data" "$work/short" >/dev/null
"$python" "$here/peers/texts.py" long "$data" "$work/long" >/dev/null
head -n 1 "$work/short" >"$work/one"
echo "# $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs), $(nproc) processors; load $(cut -d' ' -f1-3 /proc/loadavg)"

# seconds MODEL PRECISION TEXTS: of the processor, start included
seconds() {
  local TIMEFORMAT="%U %S"
  { time "$program" encode --threads 1 --model "$1" --precision "$2" --output "$work/timed.bin" "$3" 2>/dev/null; } 2>&1 |
    awk '{ print $1 + $2 }'
}

for model in "$@"; do
  echo "## $model"
  for p in $precisions; do
    "$program" encode --model "$model" --precision $p --output "$work/$p.npy" "$work/agree.txt" 2>/dev/null
    echo "$p sts $("$program" eval sts --csv --model "$model" --precision $p "$data/sts/stsb-en-test.tsv.gz" 2>/dev/null | tail -n 1)"
    echo "$p tatoeba $("$program" eval translation --csv --model "$model" --precision $p "$data/parallel/en-de/test-tatoeba.tsv.gz" 2>/dev/null | tail -n 1)"
  done
  "$python" - "$work" <<'P'
import sys
import numpy as np
f32, *others = [np.load(f"{sys.argv[1]}/{p}.npy").astype("f8") for p in ("f32", "bf16", "int8")]
for name, x in zip(("bf16", "int8"), others):
    c = (f32 * x).sum(1) / np.linalg.norm(f32, axis=1) / np.linalg.norm(x, axis=1)
    print(f"{name} cosine to f32 of {len(c)} sentences: mean {c.mean():.6f}, least {c.min():.6f}")
P
  for kind in short long; do
    for ((round = 0; round < ${ROUNDS:-5}; round++)); do
      line=
      for p in $precisions; do line="$line $(seconds "$model" $p "$work/one") $(seconds "$model" $p "$work/$kind")"; done
      echo "$line"
    done >"$work/times"
    awk -v kind=$kind '{ f[NR] = $2 - $1; b[NR] = ($2 - $1) / ($4 - $3); i[NR] = ($2 - $1) / ($6 - $5) }
      function median(a, n, x, j, k, t) { for (j = 1; j <= n; j++) x[j] = a[j]
        for (j = 1; j <= n; j++) for (k = j + 1; k <= n; k++) if (x[k] < x[j]) { t = x[j]; x[j] = x[k]; x[k] = t }
        return x[int((n + 1) / 2)] }
      END { printf "%s: f32 %.2f s; bf16 %.2f times as fast, int8 %.2f times\n", kind, median(f, NR), median(b, NR), median(i, NR) }' \
      "$work/times"
  done
done
