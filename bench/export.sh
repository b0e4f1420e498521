#!/bin/bash
# Exported models beside calque: cosines of onnxruntime's and fastembed's vectors to calque's in f32, for ONNX files in
# f32, f16 and int8; of NumPy's by the gguf package's reader, for GGUF files. PyPI's tokenizers read the text.
#   bench/export.sh WORK SENTENCES [NAME=MODEL...]
#     WORK       a directory for the environment and the exported models, outside the repository
#     SENTENCES  a file of sentences, one per line
#     NAME=MODEL models; without them, base, small, and every model of tests/golden/models that can be exported
# Prints TSV: name, runtime, file, sentences, least and mean cosine, megabytes, sentences per second.
set -eu
cd "$(dirname "$0")/.."
work=${1:?usage: bench/export.sh WORK SENTENCES [NAME=MODEL...]} sentences=${2:?}
shift 2
calque=build/release/calque golden=tests/golden/models
mkdir -p "$work"
if [ ! -x "$work/env/bin/python" ]; then
  python3 -m venv "$work/env" >&2
  "$work/env/bin/pip" install --quiet -r bench/peers/requirements-export.txt >&2
fi

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
