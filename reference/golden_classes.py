"""Writes tokenizers without a tokenizer.json into tests/golden/token, and the ids that transformers' class gives with them.

    python reference/golden_classes.py tests/golden/token

The class is named in tokenizer_config.json or in config.json. Trained on sentences.json. Needs tokenizers, transformers,
sentencepiece and protobuf.
"""
import io
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import sentencepiece
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer


def write(folder, name, content):
    if isinstance(content, bytes):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)
        return
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as f:
        f.write(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")


def finish(root, name, sentences, files):
    folder = os.path.join(root, name)
    os.makedirs(folder, exist_ok=True)
    for file, content in files.items():
        write(folder, file, content)
    t = AutoTokenizer.from_pretrained(folder)
    write(folder, "ids.json", t(sentences)["input_ids"])
    print(name, type(t).__name__, len(t), file=sys.stderr)


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "sentences.json"), encoding="utf-8") as f:
        sentences = json.load(f)
    t = Tokenizer(models.WordPiece(unk_token="<unk>"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(sentences, trainers.WordPieceTrainer(vocab_size=500, limit_alphabet=250, show_progress=False,
                                                               special_tokens=["<pad>", "<unk>", "<cls>", "<sep>", "<mask>", "<s>", "</s>"]))
    vocab = "".join(p + "\n" for p, _ in sorted(t.get_vocab().items(), key=lambda x: x[1]))
    finish(root, "funnel", sentences, {"vocab.txt": vocab, "tokenizer_config.json": {"tokenizer_class": "FunnelTokenizerFast"}})
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(sentences, trainers.BpeTrainer(vocab_size=500, limit_alphabet=200, show_progress=False, end_of_word_suffix="</w>",
                                                         special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"]))
    model = json.loads(t.to_str())["model"]
    merges = "#version: 0.2\n" + "".join((m if isinstance(m, str) else " ".join(m)) + "\n" for m in model["merges"])
    finish(root, "herbert", sentences, {"vocab.json": model["vocab"], "merges.txt": merges,
                                        "config.json": {"model_type": "bert", "tokenizer_class": "HerbertTokenizerFast"}})
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(s for s in sentences if "\0" not in s), model_writer=model, vocab_size=600, pad_id=0, unk_id=1,
        bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]", "[MASK]"], normalization_rule_name="identity",
        character_coverage=1.0, num_threads=1, minloglevel=4)
    finish(root, "albert", sentences, {"spiece.model": model.getvalue(), "config.json": {"model_type": "albert"},
                                       "tokenizer_config.json": {"keep_accents": False}})
    fairseq = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(s for s in sentences if "\0" not in s), model_writer=fairseq, vocab_size=600,
        normalization_rule_name="identity", character_coverage=1.0, num_threads=1, minloglevel=4)
    finish(root, "camembert", sentences, {"sentencepiece.bpe.model": fairseq.getvalue(), "config.json": {"model_type": "camembert"}})
    folder = os.path.join(root, "deberta-v2")  # a tokenizer.json of transformers 5
    finish(root, "deberta-v2", sentences, {"spm.model": model.getvalue(), "config.json": {"model_type": "deberta-v2"},
                                           "tokenizer_config.json": {"unk_token": "<unk>", "pad_token": "<pad>", "do_lower_case": True}})
    AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
    os.remove(os.path.join(folder, "spm.model"))


if __name__ == "__main__":
    main()
