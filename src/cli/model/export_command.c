/* calque model export: writes a model for other runtimes. cq_export does the work and defines the options. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

static int run_model_export(const cli_call *call) {
  cq_error error = {0};
  const int code = cli_check_options(call);
  if (code) return code;
  if (cq_export(call->arguments[1], call->arguments[0], call->library, &error)) return cli_fail_error(&error);
  cli_note("wrote %s", call->arguments[1]);
  return CLI_OK;
}

const cli_command cli_model_export = {
    .name = "export",
    .summary = "write a model as ONNX (onnxruntime, fastembed, transformers.js) or GGUF (llama.cpp, Ollama)",
    CLI_ARGUMENTS("MODEL DIRECTORY", 2, 2),
    .description =
        "Writes a model for other runtimes to a new directory. An ONNX file computes all modules, from token "
        "ids to the sentence's vector: DIRECTORY/onnx/model.onnx, model_fp16.onnx, model_quantized.onnx, "
        "with tokenizer.json and its configuration beside them. GGUF has BERT's and XLM-RoBERTa's "
        "architecture: DIRECTORY/model-f32.gguf, model-f16.gguf, model-q8_0.gguf. A model that the format "
        "cannot express is refused.",
    .example = "calque model export --to onnx --precision f32,int8 base base-onnx",
    CLI_GROUP(&cq_group_export),
    .run = run_model_export,
};
