#!/bin/bash
# Exported models beside calque: cosines of onnxruntime's and fastembed's vectors to calque's in f32, for ONNX files in
# f32, f16 and int8; of NumPy's by the gguf package's reader, for GGUF files. PyPI's tokenizers read the text. Then int8
# on a processor without VNNI, which qemu-x86_64 emulates where it is installed; and a Chroma collection of an index's
# documents, whose queries are encoded by the ONNX file, beside `calque search`.
#   bench/export.sh WORK SENTENCES [NAME=MODEL...]
#     WORK       a directory for the environment and the exported models, outside the repository
#     SENTENCES  a file of sentences, one per line
#     NAME=MODEL models without prompts; without them, base, small, and every model of tests/golden/models that can be exported
# Prints TSV: name, runtime, file, sentences, least and mean cosine, megabytes, sentences per second; for Chroma: name,
# "chroma", documents, queries, queries with the same first ten. Fails where a ten differs.
set -euo pipefail
cd "$(dirname "$0")/.."
work=${1:?usage: bench/export.sh WORK SENTENCES [NAME=MODEL...]} sentences=${2:?}
shift 2
calque=build/release/calque golden=tests/golden/models
mkdir -p "$work"
if [ ! -x "$work/env/bin/python" ]; then
  python3 -m venv "$work/env" >&2
  "$work/env/bin/pip" install --quiet -r bench/peers/requirements-export.txt >&2
fi

# without_vnni NAME MODEL SENTENCES: int8 of the first 12 sentences. The emulated processor has AVX2 and no AVX-512.
without_vnni() {
  command -v qemu-x86_64 >/dev/null || return 0
  head -n 12 "$3" >"$work/few"
  "$calque" encode -m "$2" --precision f32 --prompt '' --replace -o "$work/few.npy" "$work/few" 2>>"$work/log"
  printf '%s\t%s\tonnx/model_quantized.onnx\t%s\t%s\n' "$1, AVX2" "$work/$1.onnx" "$work/few.npy" "$work/few" |
    OPENBLAS_NUM_THREADS=1 qemu-x86_64 -cpu max "$work/env/bin/python" bench/peers/export_peer.py
}

# compare_chroma NAME MODEL SENTENCES: up to 300 of the sentences as documents, the 20 after them as queries
compare_chroma() {
  local n=$(($(wc -l <"$3") - 20))
  [ $n -ge 20 ] || return 0
  [ $n -le 300 ] || n=300
  rm -rf "$work/index"
  seq 0 $((n - 1)) >"$work/ids"
  head -n $n "$3" | "$work/env/bin/python" -c 'import json, sys
for i, line in enumerate(sys.stdin): print(json.dumps({"id": str(i), "text": line.rstrip("\n")}))' >"$work/documents.jsonl"
  sed -n "$((n + 1)),$((n + 20))p" "$3" >"$work/queries"
  "$calque" index new --model "$2" "$work/index" 2>>"$work/log"
  CALQUE_PRECISION=f32 "$calque" index add "$work/index" "$work/documents.jsonl" 2>>"$work/log"
  "$work/env/bin/python" bench/peers/chroma_peer.py "$work/$1.onnx" "$calque" "$work/index" "$work/ids" "$work/queries" |
    sed "s/^/$1\t/"
}

# export_model NAME MODEL SENTENCES: the directories WORK/NAME.onnx and WORK/NAME.gguf, and jobs for the first
export_model() {
  local name=$1 model=$2 text=$3 file
  rm -rf "$work/$name.onnx" "$work/$name.gguf"
  "$calque" encode -m "$model" --precision f32 --prompt '' --replace -o "$work/$name.npy" "$text" 2>>"$work/log"
  if ! "$calque" model export --to onnx --precision f32,f16,int8 "$model" "$work/$name.onnx" 2>"$work/refused"; then
    sed 's/^calque: /# /' "$work/refused"
    return
  fi
  for file in model model_fp16 model_quantized; do
    printf '%s\t%s\tonnx/%s.onnx\t%s\t%s\n' "$name" "$work/$name.onnx" "$file" "$work/$name.npy" "$text" >>"$work/jobs"
  done
  if [ "$text" = "$sentences" ]; then
    without_vnni "$@"
    compare_chroma "$@"
  fi
  "$calque" model export --to gguf --precision f32,f16,int8 "$model" "$work/$name.gguf" 2>>"$work/log" || return 0
  for file in f32 f16 q8_0; do
    "$work/env/bin/python" bench/peers/gguf_peer.py "$work/$name.gguf/model-$file.gguf" "$work/$name.onnx/tokenizer.json" \
      "$work/$name.npy" "$text" | sed "s/^/$name\tNumPy\t/"
  done
}

: >"$work/jobs"
if [ $# -gt 0 ]; then
  for model in "$@"; do export_model "${model%%=*}" "${model#*=}" "$sentences"; done
else
  for name in base small; do export_model $name $name "$sentences"; done
  for model in "$golden"/*/; do export_model "$(basename "$model")" "$model" $golden/sentences.txt; done
fi
"$work/env/bin/python" bench/peers/export_peer.py --fastembed <"$work/jobs"
