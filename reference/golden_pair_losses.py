"""Writes tests/golden/train/pairs.safetensors: what pairs of sentences are learned from, by sentence-transformers' own
losses on given vectors, with gradients.

    python reference/golden_pair_losses.py tests/golden/train

needs sentence-transformers. `u`, `v` and `hard` are vectors, [n, dim]; `scores` and `labels` [n] what is said of pairs.
For each loss the file holds NAME.loss and its gradients NAME.du, NAME.dv (and NAME.dhard); for the labels' also the layer
`labels.weight`, `labels.bias` and its gradients labels.dweight, labels.dbias.
"""

import os
import sys

import torch
from safetensors.torch import save_file
from sentence_transformers.sentence_transformer import losses


class Given(torch.nn.Module):
    """A model whose features are the vectors themselves."""

    device = "cpu"

    def forward(self, features):
        return features


def run(tensors, name, make, labels, *vectors):
    leaves = [v.clone().double().requires_grad_() for v in vectors]
    loss = make(Given()).double()
    value = loss([{"sentence_embedding": v} for v in leaves], labels)
    value.backward()
    tensors[f"{name}.loss"] = torch.tensor([value.item()])
    for what, leaf in zip(("du", "dv", "dhard"), leaves):
        tensors[f"{name}.{what}"] = leaf.grad.float()
    return loss


def both_ways(model):
    directions = ("query_to_doc", "doc_to_query")
    return losses.MultipleNegativesRankingLoss(model, scale=4, directions=directions, partition_mode="per_direction")


def main():
    torch.manual_seed(2)
    n, dim, n_labels = 7, 6, 3
    u, v, hard = (torch.randn(n, dim) for _ in range(3))
    scores, labels = torch.rand(n), torch.randint(n_labels, (n,))
    tensors = {"u": u, "v": v, "hard": hard, "scores": scores, "labels": labels.float()}

    run(tensors, "scores", losses.CosineSimilarityLoss, scores.double(), u, v)
    run(tensors, "ranking", lambda m: losses.MultipleNegativesRankingLoss(m, scale=4), None, u, v)
    run(tensors, "ranking_hard", lambda m: losses.MultipleNegativesRankingLoss(m, scale=4), None, u, v, hard)
    run(tensors, "both_ways", both_ways, None, u, v)

    layer = torch.nn.Linear(3 * dim, n_labels)

    def softmax(model):
        loss = losses.SoftmaxLoss(model, dim, n_labels)
        loss.classifier.load_state_dict(layer.state_dict())
        return loss

    classifier = run(tensors, "labels", softmax, labels, u, v).classifier
    tensors.update({"labels.weight": layer.weight.detach(), "labels.bias": layer.bias.detach()})
    tensors.update({"labels.dweight": classifier.weight.grad.float(), "labels.dbias": classifier.bias.grad.float()})
    save_file({k: t.contiguous() for k, t in tensors.items()}, os.path.join(sys.argv[1], "pairs.safetensors"))


main()
