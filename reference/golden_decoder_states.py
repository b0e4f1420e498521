"""Writes tests/golden/decoder/from-encoder.safetensors: a decoder in PyTorch that begins where an encoder has ended.

    python reference/golden_decoder_states.py tests/golden/decoder

needs torch and safetensors. The encoder is a table of words, an LSTM of two layers, the mean over words and a linear
layer, which gives the vector; the decoder reads the vector beside every token, and its LSTM begins with the states in
which the encoder's ended. What the decoder writes are other sentences than the encoder reads. The file holds `lengths`
and `ids` of what is read and `written_lengths` and `written_ids` of what is written, <s> and </s> included, the
`latent` vectors, the `states` [sentences, 2 * layers * dim], hidden states of all layers and then their cells, the
`loss`, and `encoder/NAME`, `decoder/NAME` and `gradient.encoder/NAME`, `gradient.decoder/NAME` for the weights under
their names in calque's files.
"""

import os
import sys

import torch
from safetensors.torch import save_file
from torch.nn.functional import cross_entropy

VOCABULARY, EMBEDDING, HIDDEN, LAYERS, LATENT = 10, 6, 7, 2, 5
READ, WRITTEN = [3, 9, 2, 5], [6, 2, 8, 4]


def sentences(lengths):
    begin, end = torch.tensor([2]), torch.tensor([3])
    return [torch.cat([begin, torch.randint(4, VOCABULARY, (n - 2,)), end]) for n in lengths]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(29)
    encoder = torch.nn.ModuleDict({
        "emb_layer": torch.nn.Embedding(VOCABULARY, EMBEDDING),
        "encoder": torch.nn.LSTM(EMBEDDING, HIDDEN, num_layers=LAYERS, batch_first=True),
        "linear": torch.nn.Linear(HIDDEN, LATENT),
    })
    decoder = torch.nn.ModuleDict({
        "embedding": torch.nn.Embedding(VOCABULARY, EMBEDDING),
        "decoder": torch.nn.LSTM(EMBEDDING + LATENT, HIDDEN, num_layers=LAYERS, batch_first=True),
        "output": torch.nn.Linear(HIDDEN, VOCABULARY),
    })
    for p in [*encoder.parameters(), *decoder.parameters()]:
        torch.nn.init.uniform_(p, -0.8, 0.8)
    read, written = sentences(READ), sentences(WRITTEN)
    latent, states, loss = [], [], torch.zeros(())
    for source, target in zip(read, written):
        y, (h, c) = encoder["encoder"](encoder["emb_layer"](source)[None])
        z = encoder["linear"](y[0].mean(0))
        given = torch.cat([decoder["embedding"](target[:-1]), z.expand(len(target) - 1, -1)], dim=1)
        y, _ = decoder["decoder"](given[None], (h, c))
        loss = loss + cross_entropy(decoder["output"](y[0]), target[1:], reduction="sum")
        latent.append(z)
        states.append(torch.cat([h.flatten(), c.flatten()]))
    loss.backward()
    tensors = {
        "lengths": torch.tensor(READ, dtype=torch.float32),
        "ids": torch.cat(read).float(),
        "written_lengths": torch.tensor(WRITTEN, dtype=torch.float32),
        "written_ids": torch.cat(written).float(),
        "latent": torch.stack(latent),
        "states": torch.stack(states),
        "loss": loss[None],
    }
    for side, model in ("encoder", encoder), ("decoder", decoder):
        for name, p in model.named_parameters():
            tensors[f"{side}/{name}"] = p
            tensors[f"gradient.{side}/{name}"] = p.grad
    path = os.path.join(folder, "from-encoder.safetensors")
    save_file({k: v.detach().contiguous() for k, v in tensors.items()}, path)


main()
