"""Multilingual distillation in plain PyTorch and sentence-transformers: what calque distill is compared with.

    python train_peer.py --teacher DIR --student DIR --train FILE.tsv --log LOG.jsonl [--output DIR] [options]

Batches in file order; a batch is --batch pairs. The loss is sentence_transformers' MSELoss over both sides: the mean of
(student(source) - teacher(source))^2 and (student(target) - teacher(source))^2. AdamW with decay on matrices only, linear
warm-up and decline, gradients clipped to norm 1. The log holds {"step", "loss", "learning_rate", "gradient_norm", "seconds"}
a line; seconds cover tokenizing, forward, backward and update, as calque's do.
"""

import argparse
import json
import os
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
from sentence_transformers import SentenceTransformer

SIZES = {"batch": 64, "steps": 100, "threads": 2, "seed": 1}
RATES = {"lr": 2e-5, "warmup": 10, "weight-decay": 0.01, "eps": 1e-6, "clip": 1.0, "dropout": -1.0}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("teacher", "student", "train", "log"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--output")
    p.add_argument("--vectors", help="keep the teacher's vectors of the whole training file here, or take them from here")
    p.add_argument("--compile", action="store_true")
    p.add_argument("--bf16", action="store_true", help="forward under autocast")
    p.add_argument("--fused", action="store_true", help="the optimizer in one kernel")
    for name, default in SIZES.items():
        p.add_argument("--" + name, type=int, default=default)
    for name, default in RATES.items():
        p.add_argument("--" + name, type=float, default=default)
    return p.parse_args()


def parameter_groups(model, weight_decay):
    with_decay, without = [], []
    for name, p in model.named_parameters():
        (without if name.endswith("bias") or "norm" in name.lower() else with_decay).append(p)
    return [{"params": with_decay, "weight_decay": weight_decay}, {"params": without, "weight_decay": 0.0}]


def main():
    o = options()
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    load = {"device": "cpu", "local_files_only": True, "model_kwargs": {"dtype": torch.float32}}
    with open(o.train, encoding="utf-8") as f:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in f]
    assert len(pairs) >= o.batch * o.steps, f"{len(pairs)} pairs are too few for {o.steps} steps of {o.batch}"
    if o.vectors and os.path.exists(o.vectors):
        targets = torch.load(o.vectors)
    else:
        teacher = SentenceTransformer(o.teacher, **load)
        targets = teacher.encode([s for s, _ in pairs], convert_to_tensor=True, show_progress_bar=False)
        del teacher
        if o.vectors:
            torch.save(targets, o.vectors)
    assert len(targets) == len(pairs)

    student = SentenceTransformer(o.student, **load)
    if o.dropout >= 0:
        for module in student.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = o.dropout
    optimizer = torch.optim.AdamW(parameter_groups(student, o.weight_decay), lr=o.lr, eps=o.eps,
                                  fused=o.fused)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: done / o.warmup if done < o.warmup else
                                                 max(0.0, (o.steps - done) / max(1, o.steps - o.warmup)))
    student.train()
    forward = torch.compile(student, dynamic=True) if o.compile else student
    with open(o.log, "w") as log:
        for step in range(o.steps):
            start = time.perf_counter()
            batch = pairs[step * o.batch:(step + 1) * o.batch]
            wanted = targets[step * o.batch:(step + 1) * o.batch]
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=o.bf16):
                sides = [forward(student.preprocess(list(side)))["sentence_embedding"] for side in zip(*batch)]
            value = torch.nn.functional.mse_loss(torch.cat(sides).float(), torch.cat([wanted, wanted]))
            value.backward()
            norm = torch.nn.utils.clip_grad_norm_(student.parameters(), o.clip)
            rate = optimizer.param_groups[0]["lr"]
            optimizer.step()
            schedule.step()
            log.write(json.dumps({"type": "step", "step": step + 1, "loss": value.item(), "learning_rate": rate,
                                  "gradient_norm": norm.item(), "seconds": time.perf_counter() - start}) + "\n")
    if o.output:
        student.eval()
        student.save(o.output, create_model_card=False)


if __name__ == "__main__":
    main()
