#!/bin/bash
# Two languages' LSTM autoencoders, a training step and greedy writing, calque beside PyTorch, in turn in one run.
#   bench/autoencode.sh BUILD [VENV [OPTIONS]]
#   VENV     the peer's environment, made when it is not there (calque-autoencode in $TMPDIR or /tmp)
#   OPTIONS  those of bench/peers/autoencode.py: --threads 2, --rounds 4, --steps 3, --settings, --latent-at-every-step
# Wants an otherwise idle machine; on another one, only the ratios of one run say something.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$1 venv=${2:-${TMPDIR:-/tmp}/calque-autoencode}
shift $(($# < 2 ? $# : 2))
here=$(cd "$(dirname "$0")" && pwd)
if ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
  [ -d "$venv" ] || python3 -m venv "$venv" >&2
  "$venv/bin/pip" install --quiet "$(grep ^torch== "$here/peers/requirements.txt")" numpy >&2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$venv/bin/python" "$here/peers/autoencode.py" "$build/bench/bench_autoencode" "$work" "$@"
