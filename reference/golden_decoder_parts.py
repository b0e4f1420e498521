"""Writes tests/golden/decoder/*.safetensors: what PyTorch makes of a decoder's parts, with gradients.

    python reference/golden_decoder_parts.py tests/golden/decoder

needs torch and safetensors. `states*`: an LSTM with initial states, its outputs and its final states, on sentences of
several lengths; besides golden_lstm.py's tensors each file holds, [sentences, directions * dim], `h0` and `c0`, `hn`
and `cn` (of an empty sentence its initial state), the gradients `dhn` and `dcn` that came in and `dh0` and `dc0` that
went out.
`tokens*`: a linear layer and the cross entropy under it; `x`, `ids`, `smoothing`, `factor`, `loss` (the sum, without
the factor), `log_p` and, of the loss times the factor, `dx` and `gradient.NAME`.
"""

import os
import sys

import torch
from safetensors.torch import save_file
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence


def save(tensors, path):
    save_file({k: v.detach().contiguous() for k, v in tensors.items()}, path)


def side_by_side(state):
    """[directions, sentences, dim] to [sentences, directions * dim]."""
    return state.transpose(0, 1).flatten(1)


def write_states(path, size, dim, lengths, bidirectional):
    torch.manual_seed(len(lengths) * 100 + dim)
    n_directions = 2 if bidirectional else 1
    lstm = torch.nn.LSTM(size, dim, bidirectional=bidirectional, batch_first=True)
    for p in lstm.parameters():
        torch.nn.init.uniform_(p, -0.8, 0.8)
    x = torch.randn(sum(lengths), size, requires_grad=True)
    h0, c0 = (torch.randn(n_directions, len(lengths), dim, requires_grad=True) for _ in range(2))
    some = [i for i, n in enumerate(lengths) if n]
    sentences = [torch.split(x, lengths)[i] for i in some]
    packed, (h, c) = lstm(pack_sequence(sentences, enforce_sorted=False), (h0[:, some], c0[:, some]))
    padded, n = pad_packed_sequence(packed, batch_first=True)
    y = torch.cat([padded[i, : n[i]] for i in range(len(sentences))])
    hn, cn = h0.clone(), c0.clone()
    hn[:, some], cn[:, some] = h, c
    dy, dhn, dcn = torch.randn_like(y), torch.randn_like(hn), torch.randn_like(cn)
    ((y * dy).sum() + (hn * dhn).sum() + (cn * dcn).sum()).backward()
    tensors = {"lengths": torch.tensor(lengths, dtype=torch.float32), "x": x, "y": y, "dy": dy, "dx": x.grad}
    states = {"h0": h0, "c0": c0, "hn": hn, "cn": cn, "dhn": dhn, "dcn": dcn, "dh0": h0.grad, "dc0": c0.grad}
    tensors.update({k: side_by_side(v) for k, v in states.items()})
    for name, p in lstm.named_parameters():
        tensors[name] = p
        tensors["gradient." + name] = p.grad
    save(tensors, path)


def write_tokens(path, n_tokens, dim, vocabulary, smoothing, factor, bias):
    torch.manual_seed(n_tokens)
    output = torch.nn.Linear(dim, vocabulary, bias=bias)
    for p in output.parameters():
        torch.nn.init.uniform_(p, -0.8, 0.8)
    x = torch.randn(n_tokens, dim, requires_grad=True)
    ids = torch.randint(vocabulary, (n_tokens,))
    logits = output(x)
    loss = torch.nn.functional.cross_entropy(logits, ids, reduction="sum", label_smoothing=smoothing)
    (factor * loss).backward()
    tensors = {
        "x": x,
        "ids": ids.float(),
        "smoothing": torch.tensor([smoothing]),
        "factor": torch.tensor([factor]),
        "loss": loss.reshape(1),
        "log_p": torch.log_softmax(logits, 1),
        "dx": x.grad,
    }
    for name, p in output.named_parameters():
        tensors[name] = p
        tensors["gradient." + name] = p.grad
    save(tensors, path)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    write_states(os.path.join(folder, "states.safetensors"), 6, 9, [2, 5, 0, 1, 7, 5, 1], False)
    write_states(os.path.join(folder, "states_both.safetensors"), 4, 5, [3, 0, 1, 6, 3], True)
    write_tokens(os.path.join(folder, "tokens.safetensors"), 21, 9, 37, 0.0, 0.25, True)
    write_tokens(os.path.join(folder, "tokens_smoothed.safetensors"), 5, 8, 50, 0.1, 0.5, False)


main()
