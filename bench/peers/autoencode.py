"""Two languages' LSTM autoencoders, calque's step and greedy writing beside PyTorch's, in turn in one run.

    python autoencode.py BENCH_AUTOENCODE DIRECTORY [--threads 2] [--rounds 4] [--steps 3]
                         [--settings packed:1,packed:2,padded:1,padded:2] [--latent-at-every-step]

BENCH_AUTOENCODE says what it does at its top and lays the batches down in DIRECTORY. PyTorch's model is the same: embeddings,
LSTMs and linear layers of the same sizes, dropout in the same places, the same losses, gradients clipped to length 1, AdamW
(fused). A step is everything from lists of ids to updated weights; of ours, from text. A round is so many steps of calque, then as
many of each of PyTorch's settings, then greedy writing by all. Settings of PyTorch:
  packed       LSTMs over packed sequences: no work for padding
  padded       LSTMs over padded sequences, which oneDNN runs; the output layer sees no padding
  compiled     packed, through torch.compile (not by default: it takes a minute or more before the first round)
each with the number of threads inside operations that stands behind the colon. Writing is done with all sentences side by side,
once for each number of threads. Waiting threads of PyTorch sleep (OMP_WAIT_POLICY=passive, unless that is set): those that spin
would take the processor from whatever else runs. Medians over rounds, as tab-separated values.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

VOCABULARY, EMBEDDING, HIDDEN, LATENT, LAYERS, BATCH = 8000, 150, 256, 16, 2, 64
ENCODER_DROPOUT, DECODER_DROPOUT, MARGIN, RECONSTRUCTION, CONTRAST = 0.139, 0.102, 1.0, 1.039, 1.440
N_WRITTEN, N_TOKENS, START, END = 256, 30, 2, 3


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("directory")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--settings", default="packed:1,packed:2,padded:1,padded:2")
    parser.add_argument("--latent-at-every-step", action="store_true")
    return parser.parse_args()


class Calque:
    def __init__(self, o):
        self.process = subprocess.Popen([o.program, o.directory, str(o.threads), str(int(o.latent_at_every_step))],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("bench_autoencode did not start")

    def run(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return tuple(float(x) for x in self.process.stdout.readline().split())


o = options()
calque = Calque(o)
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
import torch  # noqa: E402  (after the arguments are known to be right)
from torch import nn  # noqa: E402
from torch.nn.utils.rnn import PackedSequence, pack_sequence, pad_sequence  # noqa: E402

with open(os.path.join(o.directory, "batches")) as f:
    SENTENCES = [[int(x) for x in line.split()] for line in f]


class Side(nn.Module):
    """One language's encoder and decoder."""

    def __init__(self):
        super().__init__()
        self.every_step = o.latent_at_every_step
        self.read = nn.Embedding(VOCABULARY, EMBEDDING)
        self.encoder = nn.LSTM(EMBEDDING, HIDDEN, LAYERS, batch_first=True, dropout=ENCODER_DROPOUT)
        self.latent = nn.Linear(HIDDEN, LATENT)
        self.words = nn.Embedding(VOCABULARY, EMBEDDING)
        self.state = nn.Linear(LATENT, 2 * LAYERS * HIDDEN)
        self.decoder = nn.LSTM(EMBEDDING + (LATENT if self.every_step else 0), HIDDEN, LAYERS, batch_first=True,
                               dropout=DECODER_DROPOUT)
        self.output = nn.Linear(HIDDEN, VOCABULARY)
        self.dropout = nn.Dropout(DECODER_DROPOUT)

    def states(self, z):
        all_ = torch.tanh(self.state(z)).view(len(z), 2 * LAYERS, HIDDEN).transpose(0, 1)
        return all_[:LAYERS].contiguous(), all_[LAYERS:].contiguous()

    def encode_packed(self, ids):
        _, (h, _) = self.encoder(PackedSequence(self.read(ids.data), ids.batch_sizes, ids.sorted_indices, ids.unsorted_indices))
        return torch.relu(self.latent(h[-1]))

    def loss_packed(self, ids, target, rows, z):
        x = self.words(ids.data)
        if self.every_step:
            x = torch.cat((x, z[rows]), 1)
        y, _ = self.decoder(PackedSequence(self.dropout(x), ids.batch_sizes, ids.sorted_indices, ids.unsorted_indices),
                            self.states(z))
        return nn.functional.cross_entropy(self.output(self.dropout(y.data)), target)

    def encode_padded(self, ids, last):
        y, _ = self.encoder(self.read(ids))
        return torch.relu(self.latent(y[torch.arange(len(ids)), last]))

    def loss_padded(self, ids, target, mask, z):
        x = self.words(ids)
        if self.every_step:
            x = torch.cat((x, z.unsqueeze(1).expand(-1, x.shape[1], -1)), 2)
        y, _ = self.decoder(self.dropout(x), self.states(z))
        return nn.functional.cross_entropy(self.output(self.dropout(y[mask])), target)


def contrast(a, b):
    d = (a - b).square().sum(1)
    negative = ((a - b.roll(-1, 0)).square().sum(1) + 1e-12).sqrt()
    return (d + (MARGIN - negative).clamp(min=0).square()).mean()


def lay_out_packed(sentences):
    whole = [torch.tensor(s) for s in sentences]
    pack = lambda x: pack_sequence(x, enforce_sorted=False)
    read, written = pack([s[:-1] for s in whole]), pack([s[1:] for s in whole])
    rows = pack([torch.full((len(s) - 1,), i) for i, s in enumerate(whole)]).data
    return (pack(whole),), (read, written.data, rows)


def lay_out_padded(sentences):
    whole = [torch.tensor(s) for s in sentences]
    lengths = torch.tensor([len(s) for s in sentences])
    padded = pad_sequence(whole, batch_first=True)
    mask = torch.arange(padded.shape[1] - 1) < (lengths - 1).unsqueeze(1)
    return (padded, lengths - 1), (padded[:, :-1], padded[:, 1:][mask], mask)


class Peer:
    def __init__(self, how, threads):
        torch.manual_seed(1)
        self.name, self.threads, self.n_steps, self.padded = how, threads, 0, how == "padded"
        self.sides = nn.ModuleList([Side(), Side()])
        self.optimizer = torch.optim.AdamW(self.sides.parameters(), lr=2e-4, weight_decay=0, fused=True)
        self.forward = torch.compile(self.losses) if how == "compiled" else self.losses

    def losses(self, batch):
        z, nll = [], []
        for side, (read, _) in zip(self.sides, batch):
            z.append(side.encode_padded(*read) if self.padded else side.encode_packed(*read))
        for side, v, (_, written) in zip(self.sides, z, batch):
            nll.append((side.loss_padded if self.padded else side.loss_packed)(*written, v))
        return nll[0] + nll[1], contrast(*z)

    def step(self):
        first = self.n_steps * 2 * BATCH % len(SENTENCES)
        self.n_steps += 1
        lay_out = lay_out_padded if self.padded else lay_out_packed
        batch = [lay_out(SENTENCES[first + s * BATCH:first + (s + 1) * BATCH]) for s in range(2)]
        nll, contrasted = self.forward(batch)
        self.optimizer.zero_grad()
        (RECONSTRUCTION * nll + CONTRAST * contrasted).backward()
        nn.utils.clip_grad_norm_(self.sides.parameters(), 1.0)
        self.optimizer.step()
        return nll.item() / 2, sum(len(s) for s in SENTENCES[first:first + 2 * BATCH])

    def run_steps(self, n):
        torch.set_num_threads(self.threads)
        start, n_tokens = (time.perf_counter(), time.process_time()), 0
        for _ in range(n):
            nll, more = self.step()
            n_tokens += more
        return time.perf_counter() - start[0], time.process_time() - start[1], n_tokens, nll

    def write(self):
        torch.set_num_threads(self.threads)
        side = self.sides[0].eval()
        with torch.inference_mode():
            before = side.output.bias[END].item()
            side.output.bias[END] = -1e4
            z = torch.relu(torch.randn(N_WRITTEN, LATENT))
            start = time.perf_counter(), time.process_time()
            states, ids, written = side.states(z), torch.full((N_WRITTEN, 1), START), []
            ended = torch.zeros(N_WRITTEN, dtype=torch.bool)
            for _ in range(N_TOKENS):
                x = side.words(ids)
                if side.every_step:
                    x = torch.cat((x, z.unsqueeze(1)), 2)
                y, states = side.decoder(x, states)
                ids = side.output(y[:, 0]).argmax(1, keepdim=True)
                written.append(ids)
                ended |= ids[:, 0] == END
                if ended.all():
                    break
            torch.cat(written, 1).tolist()
            seconds = time.perf_counter() - start[0], time.process_time() - start[1]
            side.output.bias[END] = before
        side.train()
        return *seconds, N_WRITTEN * N_TOKENS, 0.0


peers = [Peer(how, int(threads)) for how, threads in (s.split(":") for s in o.settings.split(","))]
writers = {p.threads: p for p in peers}.values()
print(f"# PyTorch {torch.__version__}, {o.threads} threads, load {' '.join(f'{x:.1f}' for x in os.getloadavg())}")
results = {}
for round_ in range(o.rounds + 1):  # the first warms up
    runs = [("step", "calque", o.threads, calque.run(f"step {o.steps}"))]
    runs += [("step", p.name, p.threads, p.run_steps(o.steps)) for p in peers]
    runs += [("write", "calque", o.threads, calque.run("write"))]
    runs += [("write", "PyTorch", p.threads, p.write()) for p in writers]
    for *key, (wall, cpu, n_tokens, nll) in runs:
        if round_ > 0:
            n = o.steps if key[0] == "step" else 1
            results.setdefault(tuple(key), []).append((1e3 * wall / n, 1e3 * cpu / n, n_tokens / wall, nll))
calque.process.stdin.close()
calque.process.wait()

print("what\tside\tthreads\tms\tfastest_ms\tcpu_ms\ttokens/s\tnll")
for key, rows in results.items():
    ms, cpu, rate, nll = zip(*rows)
    print(*key, f"{statistics.median(ms):.1f}", f"{min(ms):.1f}", f"{statistics.median(cpu):.1f}",
          f"{statistics.median(rate):.0f}", f"{nll[-1]:.3f}", sep="\t")
for what in ("step", "write"):
    side = lambda ours, of: [of(r[0] for r in rows) for key, rows in results.items() if key[0] == what and (key[1] == "calque") == ours]
    print(f"# {what}: {min(side(False, statistics.median)) / side(True, statistics.median)[0]:.2f} x the best of PyTorch's by medians, "
          f"{min(side(False, min)) / side(True, min)[0]:.2f} x by the fastest rounds")
