"""One peer of bench/precision.sh: encodes texts with a Transformer and mean pooling, in one runtime and precision.

    python precision_peer.py RUNTIME MODEL TEXTS CALIBRATION SECONDS.tsv VECTORS.npy

RUNTIME: torch-f32, torch-bf16, torch-bf16-compiled, openvino-f32, openvino-bf16, openvino-int8 (NNCF, static activations,
calibrated on 300 texts of CALIBRATION), onnx-f32, onnx-int8 (dynamic). One thread. Texts go in batches of 32, sorted by
length, as sentence-transformers does. Appends processor seconds of each of three rounds, conversion and warming up left out.
"""

import os
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

BATCH, CALIBRATION_TEXTS, ROUNDS = 32, 300, 3
torch.set_num_threads(1)


class Encoder(torch.nn.Module):
    """Vectors of length 1 from ids, as one graph."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        tokens = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(tokens.dtype)
        mean = (tokens * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(mean.float(), dim=1)


def batches(tokenizer, texts, max_length=256):
    """Index lists and inputs, sorted by length."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for first in range(0, len(order), BATCH):
        part = order[first:first + BATCH]
        yield part, tokenizer([texts[i] for i in part], padding=True, truncation=True, max_length=max_length,
                              return_tensors="np")


def whole_numbers(inputs):
    return {name: inputs[name].astype(np.int64) for name in ("input_ids", "attention_mask")}


def torch_runner(encoder, kind):
    if kind != "f32":
        encoder.model.to(torch.bfloat16)
    run = torch.compile(encoder, dynamic=True) if kind.endswith("compiled") else encoder

    def forward(inputs):
        with torch.inference_mode():
            return run(torch.from_numpy(inputs["input_ids"]), torch.from_numpy(inputs["attention_mask"])).numpy()
    return forward


def openvino_runner(encoder, kind, tokenizer, calibration):
    import openvino as ov
    example = {"input_ids": torch.ones(2, 8, dtype=torch.long), "attention_mask": torch.ones(2, 8, dtype=torch.long)}
    model = ov.convert_model(encoder, example_input=example)
    if kind == "int8":
        import nncf
        samples = [dict(inputs) for _, inputs in batches(tokenizer, calibration[:CALIBRATION_TEXTS])]
        model = nncf.quantize(model, nncf.Dataset(samples, whole_numbers), model_type=nncf.ModelType.TRANSFORMER,
                              subset_size=len(samples))
    compiled = ov.Core().compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "bf16" if kind == "bf16" else "f32"})

    def forward(inputs):
        return compiled(whole_numbers(inputs))[0]
    return forward


def onnx_runner(encoder, kind):
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic
    path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    example = (torch.ones(2, 8, dtype=torch.long), torch.ones(2, 8, dtype=torch.long))
    axes = {"input_ids": {0: "n", 1: "length"}, "attention_mask": {0: "n", 1: "length"}}
    torch.onnx.export(encoder, example, path, input_names=list(axes), output_names=["vectors"], dynamic_axes=axes,
                      opset_version=17, dynamo=False)
    if kind == "int8":
        quantize_dynamic(path, path + ".int8", weight_type=QuantType.QInt8, per_channel=True)
        path += ".int8"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def forward(inputs):
        return session.run(None, whole_numbers(inputs))[0]
    return forward


def main():
    runtime, name, texts_path, calibration_path, seconds_path, vectors_path = sys.argv[1:]
    runtime, _, kind = runtime.partition("-")
    texts = open(texts_path, encoding="utf-8").read().splitlines()
    calibration = open(calibration_path, encoding="utf-8").read().splitlines()
    tokenizer = AutoTokenizer.from_pretrained(name)
    attention = "sdpa" if runtime == "torch" else "eager"
    encoder = Encoder(AutoModel.from_pretrained(name, attn_implementation=attention).eval())
    forward = (torch_runner(encoder, kind) if runtime == "torch" else
               openvino_runner(encoder, kind, tokenizer, calibration) if runtime == "openvino" else
               onnx_runner(encoder, kind))
    vectors = None
    for _, inputs in list(batches(tokenizer, texts))[::8]:
        forward(inputs)
    for _ in range(ROUNDS):
        start = time.process_time()
        for part, inputs in batches(tokenizer, texts):
            y = forward(inputs)
            vectors = np.empty((len(texts), y.shape[1]), np.float32) if vectors is None else vectors
            vectors[part] = y
        with open(seconds_path, "a") as f:
            print(f"{time.process_time() - start:.3f}", file=f)
    np.save(vectors_path, vectors)


main()
