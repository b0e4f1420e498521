"""Writes tests/golden/lstm/*.safetensors: PyTorch's bidirectional LSTM on sentences of several lengths, with gradients.

    python reference/golden_lstm.py tests/golden/lstm

needs torch and safetensors. Each file holds `lengths`, `x` [tokens, in], `y` [tokens, 2 dim], `dy`, `dx`, the weights under
PyTorch's names, and for each of them `gradient.NAME`; tokens lie sentence after sentence, without padding.
"""

import os
import sys

import torch
from safetensors.torch import save_file
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence


def write(path, size, dim, lengths, bidirectional):
    torch.manual_seed(len(lengths) * 100 + dim)
    lstm = torch.nn.LSTM(size, dim, bidirectional=bidirectional, batch_first=True)
    for p in lstm.parameters():
        torch.nn.init.uniform_(p, -0.8, 0.8)
    x = torch.randn(sum(lengths), size, requires_grad=True)
    sentences = [s for s in torch.split(x, lengths) if len(s)]
    packed, _ = lstm(pack_sequence(sentences, enforce_sorted=False))
    padded, n = pad_packed_sequence(packed, batch_first=True)
    y = torch.cat([padded[i, : n[i]] for i in range(len(sentences))])
    dy = torch.randn_like(y)
    (y * dy).sum().backward()
    tensors = {"lengths": torch.tensor(lengths, dtype=torch.float32), "x": x, "y": y, "dy": dy, "dx": x.grad}
    for name, p in lstm.named_parameters():
        tensors[name] = p
        tensors["gradient." + name] = p.grad
    save_file({k: v.detach().contiguous() for k, v in tensors.items()}, path)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    write(os.path.join(folder, "both.safetensors"), 5, 7, [3, 0, 1, 6, 3, 2], True)
    write(os.path.join(folder, "forward.safetensors"), 9, 16, [4, 4, 1, 11], False)


main()
