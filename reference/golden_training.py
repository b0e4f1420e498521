"""Writes tests/golden/train/steps/: a tiny Transformer, and its parameters after runs of distillation in PyTorch.

    python reference/golden_training.py tests/golden/train/steps

needs torch, transformers, tokenizers and safetensors (made with torch 2.15.0 and transformers 5.23.0). Everything is
computed in double precision. Files:

    model/                a model directory without parameters; no dropout
    clipped.student.safetensors, clipped.teacher.safetensors, clipped.tsv
                          parameters, and pairs of sentences in the order in which they are taken: gradients are longer
                          than 1 in some batches, shorter in others
    tiny.student.safetensors, ...
                          the same; gradients are so small that AdamW's epsilon matters
    RUN.safetensors       the student's parameters after the run; RUNS below has them

All runs have AdamW with weight decay for all but biases and LayerNorm (torch.optim.AdamW with two groups, and a third
for the rate of the word embeddings), clip_grad_norm_, and the schedules of transformers.
"""

import json
import math
import os
import shutil
import sys

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import (BertConfig, BertModel, get_constant_schedule_with_warmup, get_cosine_schedule_with_warmup,
                          get_linear_schedule_with_warmup)

MAX_LENGTH, MAX_CHARACTERS = 40, 250

# As `calque distill --help` has them.
DEFAULTS = dict(data="clipped", batch=64, accumulate=1, epochs=5, steps=0, lr=2e-5, embedding_lr=0, schedule="linear",
                warmup=0.1, weight_decay=0.01, beta1=0.9, beta2=0.999, eps=1e-8, clip=1.0)
ALL_SET = dict(lr=2e-3, weight_decay=0.3, beta1=0.8, beta2=0.95, eps=1e-6, batch=8)
RUNS = {
    "defaults": {},
    "defaults-tiny": dict(data="tiny"),
    "linear": ALL_SET | dict(steps=7, warmup=0, clip=0.5),
    "cosine": ALL_SET | dict(steps=9, schedule="cosine", warmup=3, clip=0.7, embedding_lr=5e-3),
    "constant": ALL_SET | dict(steps=8, schedule="constant", warmup=0.25, clip=0),
    "accumulated": ALL_SET | dict(steps=5, accumulate=3, batch=5, clip=1.5, eps=1e-4),
}

NAMES = "baker doctor teacher sister neighbour child painter friend".split()
VERBS = "opens paints reads forgets builds closes hears carries".split()
THINGS = "the window|a boat|two books|the old picture|his keys|a garden|the soup|an umbrella|the newspaper|water"
THINGS = THINGS.split("|")
GERMAN = dict(zip(NAMES + VERBS + THINGS, (
    "Bäcker|Arzt|Lehrer|Schwester|Nachbar|Kind|Maler|Freund|öffnet|malt|liest|vergisst|baut|schließt|hört|trägt|"
    "das Fenster|ein Boot|zwei Bücher|das alte Bild|seine Schlüssel|einen Garten|die Suppe|einen Schirm|die Zeitung|"
    "Wasser").split("|")))


def make_pairs(n):
    """n different sentences of one word to many, shorter and longer ones in stretches, so that batches differ; the last
    is as long as may be. Behind them one that is left out."""
    pairs = {}
    for i in range(10 * n):
        words = [NAMES[i % 8], VERBS[i * 3 // 8 % 8], THINGS[i * 7 % 10]][:2 + i // 96 % 2]
        words = words[:1] if i < 8 else words * (1 + i % 5 // 4)
        if len(pairs) < n - 1:
            pairs[" ".join(words)] = " ".join(GERMAN[w] for w in words)
    long = "The train to the coast leaves at seven in the morning. " * 5
    pairs[long[:MAX_CHARACTERS]] = "Der Zug an die Küste fährt um sieben Uhr morgens ab."
    pairs[long[:MAX_CHARACTERS] + "!"] = "Dieser Satz fehlt."
    return list(pairs.items())


def with_copies(pairs, stretch):
    """In every other stretch a sentence's translation is the sentence itself, which takes less to learn."""
    return [(s, s if i // stretch % 2 == 0 else t) for i, (s, t) in enumerate(pairs)]


def write_json(value, path):
    with open(path, "w") as f:
        json.dump(value, f, indent=1)


def make_model(directory, models):
    os.makedirs(f"{directory}/1_Pooling", exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "modules.json"):
        shutil.copyfile(f"{models}/bert-cased/{name}", f"{directory}/{name}")
    write_json({"max_seq_length": MAX_LENGTH, "do_lower_case": False}, f"{directory}/sentence_bert_config.json")
    config = BertConfig(vocab_size=420, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12,
                        max_position_embeddings=48, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    config.architectures = ["BertModel"]
    config.save_pretrained(directory)
    write_json({"word_embedding_dimension": 8, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True},
               f"{directory}/1_Pooling/config.json")
    return config


def save(model, path):
    save_file({n: p.detach().float().contiguous() for n, p in model.named_parameters()}, path, {"format": "pt"})
    os.chmod(path, 0o644)


def load(config, path):
    model = BertModel(config, add_pooling_layer=False).double()
    model.load_state_dict({n: t.double() for n, t in load_file(path).items()}, strict=False)
    return model


def make_parameters(directory, config):
    """The longer a model's vectors are, the longer are gradients."""
    for data, length, distance in ("clipped", 6, 2e-3), ("tiny", 1, 1e-4):
        torch.manual_seed(19)
        model = BertModel(config, add_pooling_layer=False)
        with torch.no_grad():
            for name, p in model.named_parameters():
                p.copy_(0.4 * torch.randn_like(p) + (1 if name.endswith("LayerNorm.weight") else 0))
            model.encoder.layer[0].output.LayerNorm.weight.mul_(length)
            save(model, f"{directory}/{data}.student.safetensors")
            for p in model.parameters():
                p.add_(distance * torch.randn_like(p))
        save(model, f"{directory}/{data}.teacher.safetensors")


def encode(model, tokenizer, texts):
    """The mean of the last layer over a sentence's tokens."""
    encoded = tokenizer.encode_batch(texts)
    ids, mask = (torch.tensor([getattr(e, what) for e in encoded]) for what in ("ids", "attention_mask"))
    last = model(input_ids=ids, attention_mask=mask).last_hidden_state
    weights = mask.unsqueeze(-1).double()
    return (last * weights).sum(1) / weights.sum(1)


def is_decayed(name):
    return not (name.endswith(".bias") or "LayerNorm" in name)


def train(model, teacher, tokenizer, pairs, o):
    words = "embeddings.word_embeddings.weight"
    groups = [dict(params=[p for n, p in model.named_parameters() if is_decayed(n) == decayed and n != words],
                   weight_decay=o["weight_decay"] if decayed else 0.0) for decayed in (True, False)]
    groups.append(dict(params=[dict(model.named_parameters())[words]], weight_decay=o["weight_decay"],
                       lr=o["embedding_lr"] or o["lr"]))
    optimizer = torch.optim.AdamW(groups, lr=o["lr"], betas=(o["beta1"], o["beta2"]), eps=o["eps"])
    steps = o["steps"] or math.ceil(o["epochs"] * len(pairs) / (o["batch"] * o["accumulate"]))
    warmup = int(o["warmup"] * steps if o["warmup"] < 1 else o["warmup"])
    scheduler = {"linear": lambda: get_linear_schedule_with_warmup(optimizer, warmup, steps),
                 "cosine": lambda: get_cosine_schedule_with_warmup(optimizer, warmup, steps),
                 "constant": lambda: get_constant_schedule_with_warmup(optimizer, warmup)}[o["schedule"]]()
    at, norms = 0, []
    for _ in range(steps):
        optimizer.zero_grad()
        for _ in range(o["accumulate"]):
            batch = [pairs[(at + i) % len(pairs)] for i in range(o["batch"])]
            at += o["batch"]
            sources, targets = [s for s, _ in batch], [t for _, t in batch]
            with torch.no_grad():
                wanted = encode(teacher, tokenizer, sources)
            given = encode(model, tokenizer, sources + targets)
            loss = torch.nn.functional.mse_loss(given, torch.cat([wanted, wanted]))
            (loss / o["accumulate"]).backward()
        limit = o["clip"] or float("inf")
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), limit).item())
        optimizer.step()
        scheduler.step()
    return norms


def main(directory):
    os.makedirs(directory, exist_ok=True)
    config = make_model(f"{directory}/model", os.path.join(os.path.dirname(__file__), "../tests/golden/models"))
    make_parameters(directory, config)
    data = {"clipped": with_copies(make_pairs(450), 96), "tiny": with_copies(make_pairs(160), 1000)}
    for name, pairs in data.items():
        with open(f"{directory}/{name}.tsv", "w", encoding="utf-8") as f:
            f.writelines(f"{source}\t{target}\n" for source, target in pairs)
        data[name] = [p for p in pairs if max(map(len, p)) <= MAX_CHARACTERS]
    tokenizer = Tokenizer.from_file(f"{directory}/model/tokenizer.json")
    tokenizer.enable_truncation(MAX_LENGTH)
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
    for run, changes in RUNS.items():
        o = DEFAULTS | changes
        student, teacher = (load(config, f"{directory}/{o['data']}.{whose}.safetensors")
                            for whose in ("student", "teacher"))
        norms = train(student, teacher, tokenizer, data[o["data"]], o)
        save(student, f"{directory}/{run}.safetensors")
        print(run, "gradient norms:", " ".join(f"{n:.3g}" for n in norms))


main(sys.argv[1])
