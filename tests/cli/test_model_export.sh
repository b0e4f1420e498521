# calque model export.
. "$(dirname "$0")/common.sh"

golden=$SOURCE/tests/golden/models
expect 0 model export "$golden/plain-bert" onnx
stderr_has "wrote onnx"
for file in onnx/model.onnx config.json tokenizer.json tokenizer_config.json special_tokens_map.json; do
  [ -s "onnx/$file" ] || fail "no $file"
done
[ "$(find onnx/onnx -type f | wc -l)" -eq 1 ] || fail "more than was requested"
expect 0 model export --precision f16,int8 "$golden/plain-bert" small
[ "$(find small/onnx -type f | sort | xargs -n 1 basename | xargs)" = "model_fp16.onnx model_quantized.onnx" ] || fail "names"
expect 0 model export --to gguf --precision f32,f16,int8 "$golden/plain-bert" gguf
[ "$(find gguf -type f | sort | xargs -n 1 basename | xargs)" = "model-f16.gguf model-f32.gguf model-q8_0.gguf" ] || fail "names"
[ "$(head -c 4 gguf/model-f32.gguf)" = GGUF ] || fail "not GGUF"

# An exported model is the same in two runs.
expect 0 model export "$golden/plain-bert" again
same onnx/onnx/model.onnx again/onnx/model.onnx

# What is refused leaves nothing.
expect 1 model export "$golden/plain-bert" onnx
stderr_has "already exists"
expect 1 model export "$golden/bilstm-max" none
stderr_has "module 1 (WordEmbeddings) cannot be exported to ONNX"
expect 1 model export --to gguf "$golden/dense-identity" none
stderr_has "module 3 (Dense) cannot be exported to GGUF"
[ ! -e none ] || fail "none is there"
expect 2 model export --to tensorflow "$golden/plain-bert" none
stderr_has "tensorflow"
expect 2 model export --precision f64 "$golden/plain-bert" none
expect 2 model export "$golden/plain-bert"
