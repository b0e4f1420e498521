"""Writes tests/golden/train/discriminator_*.safetensors: a discriminator of two languages' vectors, by PyTorch.

    python reference/golden_discriminator.py tests/golden/train

needs torch and safetensors. `a` and `b` are the vectors [n, dim], `smoothing` and `weight` numbers; `loss`, `accuracy`
and `gradient.NAME` are the discriminator's, `adversary` is what the encoders make less and `da` and `db` its gradients
with the weight. In `reversed` the encoders get the discriminator's gradient reversed, in `swapped` that of the other
language's label.
"""

import os
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return x.clone()

    @staticmethod
    def backward(_, gradient):
        return -gradient


def write(path, seed, n, dim, hidden, smoothing, weight, swapped):
    torch.manual_seed(seed)
    network = torch.nn.Sequential(torch.nn.Linear(dim, hidden), torch.nn.LeakyReLU(0.2), torch.nn.Linear(hidden, 1))
    for p in network.parameters():
        torch.nn.init.uniform_(p, -0.9, 0.9)
    network.double()
    a, b = (torch.randn(n, dim).double().requires_grad_() for _ in range(2))
    labels = torch.cat([torch.zeros(n), torch.ones(n)]).double()
    smoothed = labels * (1 - 2 * smoothing) + smoothing

    odds = network(torch.cat([a, b]).detach())[:, 0]
    loss = F.binary_cross_entropy_with_logits(odds, smoothed)
    loss.backward()
    gradients = [p.grad.clone() for p in network.parameters()]

    vectors = torch.cat([a, b])
    odds = network(vectors if swapped else Reversal.apply(vectors))[:, 0]
    adversary = F.binary_cross_entropy_with_logits(odds, 1 - smoothed if swapped else smoothed)
    (weight * adversary).backward()
    numbers = {
        "smoothing": smoothing,
        "weight": weight,
        "loss": loss.item(),
        "accuracy": ((odds > 0) == (labels > 0)).double().mean().item(),
        "adversary": adversary.item() if swapped else -adversary.item(),
    }
    tensors = {k: torch.tensor([v]) for k, v in numbers.items()}
    tensors.update({"a": a, "b": b, "da": a.grad, "db": b.grad})
    names = ["hidden.weight", "hidden.bias", "output.weight", "output.bias"]
    for name, p, gradient in zip(names, network.parameters(), gradients):
        tensors[name], tensors["gradient." + name] = p, gradient
    save_file({k: v.detach().float().contiguous() for k, v in tensors.items()}, path)


def main():
    folder = sys.argv[1]
    write(os.path.join(folder, "discriminator_reversed.safetensors"), 1, 6, 5, 7, 0.0, 0.8, False)
    write(os.path.join(folder, "discriminator_swapped.safetensors"), 2, 5, 4, 9, 0.1, 1.3, True)


main()
