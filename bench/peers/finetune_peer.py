"""Finetuning in plain PyTorch by sentence-transformers' losses: what calque finetune is compared with.

    python finetune_peer.py --model DIR --kind pairs|scored --train FILE.tsv --log LOG.jsonl [options]

Batches in file order. pairs: MultipleNegativesRankingLoss at scale 20; scored: CosineSimilarityLoss of the third column
divided by 5. Optimizer, schedule and log as train_peer.py's.
"""

import argparse
import json
import os
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses

from train_peer import RATES, SIZES, parameter_groups


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "kind", "train", "log"):
        p.add_argument("--" + name, required=True)
    for name, default in {**SIZES, **RATES}.items():
        p.add_argument("--" + name, type=type(default), default=default)
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    with open(o.train, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    assert len(rows) >= o.batch * o.steps, f"{len(rows)} rows are too few for {o.steps} steps of {o.batch}"
    model = SentenceTransformer(o.model, device="cpu", local_files_only=True, model_kwargs={"dtype": torch.float32})
    if o.dropout >= 0:
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = o.dropout
    make = {"pairs": losses.MultipleNegativesRankingLoss, "scored": losses.CosineSimilarityLoss}[o.kind]
    loss = make(model)
    optimizer = torch.optim.AdamW(parameter_groups(model, o.weight_decay), lr=o.lr, eps=o.eps)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: done / o.warmup if done < o.warmup else
                                                 max(0.0, (o.steps - done) / max(1, o.steps - o.warmup)))
    model.train()
    with open(o.log, "w") as log:
        for step in range(o.steps):
            start = time.perf_counter()
            batch = rows[step * o.batch:(step + 1) * o.batch]
            labels = torch.tensor([float(r[2]) / 5 for r in batch]) if o.kind == "scored" else None
            optimizer.zero_grad()
            value = loss([model.preprocess([r[side] for r in batch]) for side in range(2)], labels)
            value.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), o.clip)
            rate = optimizer.param_groups[0]["lr"]
            optimizer.step()
            schedule.step()
            log.write(json.dumps({"type": "step", "step": step + 1, "loss": value.item(), "learning_rate": rate,
                                  "gradient_norm": norm.item(), "seconds": time.perf_counter() - start}) + "\n")


if __name__ == "__main__":
    main()
