"""Multilingual distillation by sentence-transformers' own trainer and MSELoss: what calque's recipe is compared with.

    python trainer_peer.py --teacher DIR --student DIR --train FILE.tsv --output DIR [options]

The trainer's defaults, with a linear schedule after --warmup steps; dropout as the student's config says. Batches are the file's
pairs in order, --batch at a time, so that calque distill --no-shuffle takes the same.
"""

import argparse
import os
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import datasets
import torch
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses
from torch.utils.data import SequentialSampler

try:
    from sentence_transformers.base.sampler import DefaultBatchSampler
except ImportError:
    from sentence_transformers.sampler import DefaultBatchSampler


def in_order(dataset, batch_size, drop_last, **ignored):
    return DefaultBatchSampler(SequentialSampler(dataset), batch_size=batch_size, drop_last=drop_last)


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("teacher", "student", "train", "output"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--vectors", help="keep the teacher's vectors of the training file here, or take them from here")
    for name, default in {"batch": 64, "steps": 1000, "warmup": 100, "threads": 2, "seed": 1}.items():
        p.add_argument("--" + name, type=int, default=default)
    p.add_argument("--lr", type=float, default=2e-5)
    return p.parse_args()


def main():
    o = options()
    torch.set_num_threads(o.threads)
    load = {"device": "cpu", "local_files_only": True, "model_kwargs": {"dtype": torch.float32}}
    with open(o.train, encoding="utf-8") as f:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in f][:o.batch * o.steps]
    assert len(pairs) == o.batch * o.steps, f"{len(pairs)} pairs are too few for {o.steps} steps of {o.batch}"
    if o.vectors and os.path.exists(o.vectors):
        targets = torch.load(o.vectors)
    else:
        targets = SentenceTransformer(o.teacher, **load).encode([s for s, _ in pairs], convert_to_tensor=True, show_progress_bar=False)
        if o.vectors:
            torch.save(targets, o.vectors)
    assert len(targets) == len(pairs)
    train = datasets.Dataset.from_dict({"english": [s for s, _ in pairs], "non_english": [t for _, t in pairs],
                                        "label": targets.tolist()})
    student = SentenceTransformer(o.student, **load)
    with tempfile.TemporaryDirectory() as scratch:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=scratch, max_steps=o.steps, per_device_train_batch_size=o.batch, learning_rate=o.lr, warmup_steps=o.warmup,
            lr_scheduler_type="linear", seed=o.seed, batch_sampler=in_order, save_strategy="no", report_to="none", use_cpu=True,
            disable_tqdm=True)
        SentenceTransformerTrainer(model=student, args=arguments, train_dataset=train, loss=losses.MSELoss(student)).train()
    student.eval()
    student.save(o.output, create_model_card=False)


if __name__ == "__main__":
    main()
