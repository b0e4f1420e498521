#!/bin/bash
# Makes the Python environment of infinity_emb, outside the repository: torch, and with OPTIMUM=1 its optimum engine
# (ONNX).
#   bench/peers/infinity_setup.sh VENV
set -eu
venv=${1:?usage: infinity_setup.sh VENV}
python3 -m venv "$venv" >&2
# huggingface_hub below 1 is what its transformers takes; naming it saves pip's search through all versions.
"$venv/bin/pip" install --quiet "infinity-emb[server,torch${OPTIMUM:+,optimum}]==0.0.78" 'huggingface_hub<1' >&2
"$venv/bin/infinity_emb" --help >/dev/null
