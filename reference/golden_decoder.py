"""Writes tests/golden/decoder/two-layers.safetensors: a decoder in PyTorch on sentences of several lengths.

    python reference/golden_decoder.py tests/golden/decoder

needs torch and safetensors. The decoder has two layers and takes the sentence's vector both as first state and beside
every token. The file holds `lengths` and `ids` [tokens] of the sentences, <s> and </s> included, `latent` [sentences,
dim], the `loss`, the weights under the names of calque's model.safetensors, and `gradient.NAME` for each of them and
for `latent`.
"""

import os
import sys

import torch
from safetensors.torch import save_file
from torch.nn.functional import cross_entropy

VOCABULARY, EMBEDDING, HIDDEN, LAYERS, LATENT = 11, 6, 7, 2, 5
LENGTHS = [4, 2, 9, 3, 9]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(17)
    embedding = torch.nn.Embedding(VOCABULARY, EMBEDDING)
    state = torch.nn.Linear(LATENT, 2 * LAYERS * HIDDEN)
    decoder = torch.nn.LSTM(EMBEDDING + LATENT, HIDDEN, num_layers=LAYERS, batch_first=True)
    output = torch.nn.Linear(HIDDEN, VOCABULARY)
    modules = {"embedding": embedding, "state": state, "decoder": decoder, "output": output}
    parameters = {f"{m}.{name}": p for m, module in modules.items() for name, p in module.named_parameters()}
    for p in parameters.values():
        torch.nn.init.uniform_(p, -0.8, 0.8)
    latent = torch.randn(len(LENGTHS), LATENT, requires_grad=True)
    begin, end = torch.tensor([2]), torch.tensor([3])
    sentences = [torch.cat([begin, torch.randint(4, VOCABULARY, (n - 2,)), end]) for n in LENGTHS]
    loss = torch.zeros(())
    for ids, z in zip(sentences, latent):
        first = torch.tanh(state(z)).view(2, LAYERS, 1, HIDDEN)  # hidden states, then cells
        read = torch.cat([embedding(ids[:-1]), z.expand(len(ids) - 1, -1)], dim=1)
        y, _ = decoder(read[None], (first[0].contiguous(), first[1].contiguous()))
        loss = loss + cross_entropy(output(y[0]), ids[1:], reduction="sum")
    loss.backward()
    tensors = {
        "lengths": torch.tensor(LENGTHS, dtype=torch.float32),
        "ids": torch.cat(sentences).float(),
        "latent": latent,
        "gradient.latent": latent.grad,
        "loss": loss[None],
    }
    for name, p in parameters.items():
        tensors[name] = p
        tensors["gradient." + name] = p.grad
    save_file({k: v.detach().contiguous() for k, v in tensors.items()}, os.path.join(folder, "two-layers.safetensors"))


main()
