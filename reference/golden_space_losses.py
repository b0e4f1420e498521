"""Writes tests/golden/train/space.safetensors: losses between two languages' vectors, by PyTorch, with gradients.

    python reference/golden_space_losses.py tests/golden/train

needs torch and safetensors. `a` and `b` are the vectors and `targets` what a teacher says, [n, dim]; of each loss the
file holds NAME.number (the margin, the temperature), NAME.weight, NAME.loss (without the weight) and, with it, the
gradients NAME.da and NAME.db.
"""

import os
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file


def distance(a, b, _):
    return ((a - b) ** 2).sum(1).mean()


def distillation(a, b, _):
    return ((a - targets) ** 2).sum(1).mean() + ((b - targets) ** 2).sum(1).mean()


def pairs(a, b, margin):
    away = (a - b.roll(-1, 0)).norm(dim=1)
    return (((a - b) ** 2).sum(1) + F.relu(margin - away) ** 2).mean()


def in_batch(a, b, temperature):
    logits = F.normalize(a) @ F.normalize(b).T / temperature
    own = torch.arange(len(a))
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2


def cosines(a, b, _):
    return F.mse_loss(F.cosine_similarity(a, b), targets.flatten()[: len(a)].double())


torch.manual_seed(1)
vectors = [torch.randn(6, 5) for _ in range(2)]
targets = torch.randn(6, 5)


def main():
    tensors = {"a": vectors[0], "b": vectors[1], "targets": targets}
    losses = ((distance, 0.0, 0.7), (distillation, 0.0, 0.6), (pairs, 3.2, 1.4), (in_batch, 0.3, 0.9), (cosines, 0.0, 1.1))
    for loss, number, weight in losses:
        a, b = (v.clone().double().requires_grad_() for v in vectors)
        value = loss(a, b, number)
        (weight * value).backward()
        found = {"number": number, "weight": weight, "loss": value.item()}
        tensors.update({f"{loss.__name__}.{k}": torch.tensor([v]) for k, v in found.items()})
        tensors[f"{loss.__name__}.da"], tensors[f"{loss.__name__}.db"] = a.grad.float(), b.grad.float()
    save_file(tensors, os.path.join(sys.argv[1], "space.safetensors"))


main()
