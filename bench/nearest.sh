#!/bin/bash
# Nearest neighbors both ways, calque against FAISS, in one run.
#   bench/nearest.sh BENCH_NEAREST VENV VECTORS N DIM [K [THREADS [ROUNDS]]]
# VECTORS: f32 numbers alone, DIM in a row, at least 2 N rows; or "random". FAISS_VERSION chooses the peer's release (the newest).
# Debian's python3-faiss with libopenblas0-pthread is a release 1.7 at full speed, with /usr for VENV (the wheel of 1.7.4 uses one thread).
# Wants an otherwise idle machine.
set -eu
program=${1:?usage: nearest.sh BENCH_NEAREST VENV VECTORS N DIM [K [THREADS [ROUNDS]]]} venv=$2
shift 2
if ! "$venv/bin/python3" -c 'import faiss' 2>/dev/null; then
  [ -d "$venv" ] || python3 -m venv "$venv" >&2
  "$venv/bin/pip" install --quiet "faiss-cpu${FAISS_VERSION:+==$FAISS_VERSION}" ${FAISS_VERSION:+'numpy<2'} >&2
fi
here=$(cd "$(dirname "$0")" && pwd)
peak() { "$(dirname "$program")/bench_kernels" --threads "${5:-2}" --only peak --seconds 1 | sed -n '2s/^/# machine: /p'; }
peak "$@"
"$venv/bin/python3" "$here/peers/nearest_bench.py" "$program" "$@"
peak "$@"
