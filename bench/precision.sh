#!/bin/bash
# Encoding in f32, bf16 and int8: what it loses and what it gains, side by side in one run, and beside peers.
#   bench/precision.sh PROGRAM VENV DATA [MODEL...]
# VENV is the peer environment (made when it is not there; its all-MiniLM-L6-v2 is the model when none is named).
# Losses: cosines to f32 of 10,000 sentences of all languages in DATA; STS benchmark, English, Spearman's rho;
# translation accuracy on en-de's tatoeba. Gains, in ROUNDS=5 rounds: processor seconds of encoding short sentences
# and long texts on one thread, without starting, the three in turn; the median of the rounds' ratios.
# AGREE=10000 is how many sentences cosines are taken of, KINDS="short long" what is timed.
# PEERS="torch-f32 torch-bf16 ..." (none) are the runtimes of peers/precision_peer.py: a process each in every round,
# so they take turns with ours.
set -euo pipefail
program=${1:?usage: precision.sh PROGRAM VENV DATA [MODEL...]} venv=$2 data=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- "$("$here/peers/setup.sh" "$venv")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$venv/bin/python
[ -z "${PEERS:-}" ] || "$python" -c 'import openvino, nncf, onnx, onnxruntime' 2>/dev/null ||
  "$venv/bin/pip" install --quiet -r "$here/peers/requirements-precision.txt" >&2
precisions="f32 bf16 int8"
"$python" "$here/peers/texts.py" agree "$data" "$work/agree.txt" "${AGREE:-10000}" >/dev/null
"$python" "$here/peers/texts.py" short "$data" "$work/short" >/dev/null
"$python" "$here/peers/texts.py" long "$data" "$work/long" >/dev/null
head -n 1 "$work/short" >"$work/one"
gzip -dc "$data/parallel/en-de/train-anki.tsv.gz" | cut -f 1 | awk 'NR % 97 == 1 && n++ < 300' >"$work/calibration"
echo "# $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs), $(nproc) processors;" \
  "load $(cut -d' ' -f1-3 /proc/loadavg)"

# seconds MODEL PRECISION TEXTS: of the processor, start included
seconds() {
  local TIMEFORMAT="%U %S"
  { time "$program" encode --replace --threads 1 --model "$1" --precision "$2" --output "$work/timed.bin" "$3" 2>/dev/null; } 2>&1 |
    awk '{ print $1 + $2 }'
}

for model in "$@"; do
  echo "## $model"
  echo "measures: STS as file, n, Spearman, Pearson; translation as file, n, both directions, mean, chance"
  for p in $precisions; do
    "$program" encode --replace --model "$model" --precision $p --output "$work/$p.npy" "$work/agree.txt" 2>/dev/null
    for measure in "sts $data/sts/stsb-en-test.tsv.gz" "translation $data/parallel/en-de/test-tatoeba.tsv.gz"; do
      echo "$p $("$program" eval ${measure%% *} --csv --model "$model" --precision $p "${measure#* }" 2>/dev/null | tail -n 1)"
    done
  done
  "$python" - "$work" <<'P'
import sys
import numpy as np
f32, *others = [np.load(f"{sys.argv[1]}/{p}.npy").astype("f8") for p in ("f32", "bf16", "int8")]
for name, x in zip(("bf16", "int8"), others):
    c = (f32 * x).sum(1) / np.linalg.norm(f32, axis=1) / np.linalg.norm(x, axis=1)
    print(f"{name} cosine to f32 of {len(c)} sentences: mean {c.mean():.6f}, least {c.min():.6f}")
P
  for kind in ${KINDS:-short long}; do
    "$program" encode --replace --model "$model" --output "$work/own.npy" "$work/$kind" 2>/dev/null
    for ((round = 0; round < ${ROUNDS:-5}; round++)); do
      line=
      for p in $precisions; do line="$line $(seconds "$model" $p "$work/one") $(seconds "$model" $p "$work/$kind")"; done
      echo "$line" >&3
      for peer in ${PEERS:-}; do
        "$python" "$here/peers/precision_peer.py" "$peer" "$model" "$work/$kind" "$work/calibration" \
          "$work/seconds.$peer" "$work/vectors.$peer.npy" >"$work/log.$peer" 2>&1 ||
          { tail -n 3 "$work/log.$peer" >&2; exit 1; }
      done
    done 3>"$work/times"
    "$python" "$here/peers/precision_table.py" $kind "$work" ${PEERS:-}
    rm -f "$work"/seconds.*
  done
done
