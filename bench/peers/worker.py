"""One side of the encoding benchmark: a process that loads a model and then encodes when told.

    python worker.py calque LIBRARY MODEL TEXTS                               THREADS
    python worker.py peer   SETTING MODEL TEXTS                               THREADS

SETTING is BATCH or BATCH,compile or BATCH,freeze or BATCH,eager. Reads lines from standard input: "run" answers with the
wall and the processor's seconds that one encoding of all texts took, "save PATH" with the vectors, "memory" with the peak resident kilobytes.
"""

import ctypes
import os
import sys
import time


def peak_kb():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


class Slice(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("n", ctypes.c_size_t)]


def calque(library, model, texts, threads):
    """Encodes through the C API, so that a run is timed as it is for the peer: without starting and loading."""
    import numpy as np
    lib = ctypes.CDLL(library)
    encoder, context, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(4096)
    if lib.cq_encoder_open(ctypes.byref(encoder), model.encode(), None, error):
        sys.exit("calque cannot open " + model)
    assert lib.cq_context_open(ctypes.byref(context), threads, None) == 0
    encoded = [t.encode() for t in texts]
    slices = (Slice * len(encoded))(*[Slice(t, len(t)) for t in encoded])
    out = np.zeros((len(texts), lib.cq_encoder_dim(encoder)), np.float32)

    def run():
        status = lib.cq_encoder_encode(out.ctypes.data_as(ctypes.c_void_p), None, encoder, slices,
                                       ctypes.c_size_t(len(encoded)), None, context, error)
        assert status == 0, error.raw
        return out

    return run


def peer(setting, model, texts, threads):
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    batch, _, extra = setting.partition(",")
    if extra == "freeze":
        os.environ["TORCHINDUCTOR_FREEZING"] = "1"
    import torch
    from sentence_transformers import SentenceTransformer
    torch.set_num_threads(threads)
    options = {"dtype": torch.float32}
    if extra == "eager":
        options["attn_implementation"] = "eager"
    encoder = SentenceTransformer(model, device="cpu", local_files_only=True, model_kwargs=options)
    if extra in ("compile", "freeze"):
        encoder.compile(dynamic=True)

    def run():
        with torch.inference_mode():
            return encoder.encode(texts, batch_size=int(batch), show_progress_bar=False)

    return run


def main():
    side, how, model, path, threads = sys.argv[1:6]
    with open(path, encoding="utf-8") as f:
        texts = [line.rstrip("\n") for line in f]
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever libraries print goes elsewhere
    run = (calque if side == "calque" else peer)(how, model, texts, int(threads))
    run()  # warm up: first touches, compilation
    channel.write("ready\n")
    for line in sys.stdin:
        word, _, argument = line.strip().partition(" ")
        if word == "run":
            start, processor = time.perf_counter(), time.process_time()
            run()
            channel.write(f"{time.perf_counter() - start} {time.process_time() - processor}\n")
        elif word == "save":
            import numpy as np
            np.save(argument, run())
            channel.write("saved\n")
        elif word == "memory":
            channel.write(f"{peak_kb()}\n")


if __name__ == "__main__":
    main()
