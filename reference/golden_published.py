"""Writes tests/golden/token/published.json: directories as models are published, and the ids that transformers gives with them.

    python reference/golden_published.py tests/golden/token

A case is a vocabulary of another golden tokenizer under the name that the class expects, and the JSON files beside it. Needs
transformers 5, sentencepiece and protobuf.
"""
import json
import os
import shutil
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
from transformers import AutoTokenizer

SENTENCES = [
    "The River bends twice; isn't it?", "", " ", "   ", " a", "a ", "a  b", "a\nb", "a\n\nb", "\ta\t\tb", "a\u00a0b", "a\u3000\u3000b", "\u2581a", "a \u2581 b",
    "nai\u0308ve CAFE\u0301 ẹ\u0301", "``quoted''", "ﬁ Ａｂｃ ½", "แม่น้ำ", "河流が 강은", "नदी", "\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd", "\u200b\u00ad\ufeff", "a,b.c!",
    "<s>a</s>", " <unk> b", "a  <mask>  b", "x [MASK] [CLS]y[SEP]", "[mask] <MASK>", "a<extra>b", " <EXTRA> <img> b", "<extra_id_0> a", "<0x41>"]


def token(content, **flags):
    return {"__type": "AddedToken", "content": content, "lstrip": False, "normalized": True, "rstrip": False, "single_word": False, **flags}


def decoder(*tokens, **flags):
    return {"added_tokens_decoder": {str(i): {"content": c, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True, **flags}
                                     for i, c in tokens}}


NAMES = [{"extra_special_tokens": ["<extra>", "<img>"]}, {"extra_special_tokens": {"image_token": "<img>", "x": "<extra>"}}, {"image_token": "<img>"},
         {"additional_special_tokens": ["<extra>"], "pad_token": "<img>"}, {"split_special_tokens": True}]


def masks(text):
    return [{"mask_token": text}, {"mask_token": token(text, lstrip=True)}, {"mask_token": token(text, lstrip=True, normalized=False)}, {"mask_token": token(text)}]


def cases():
    """class, model_type, vocabulary, its name, tokenizer_config.json, other files"""
    t, bert = "sentencepiece-bpe/tokenizer.model", "vocab-txt-uncased/vocab.txt"
    for config in [{}, {"do_lower_case": True}, {"split_by_punct": True}, {"add_prefix_space": False}, NAMES[1]] + masks("[MASK]")[1:3]:
        yield "DebertaV2Tokenizer", "deberta-v2", "albert/spiece.model", "spm.model", {"unk_token": "<unk>", "pad_token": "<pad>", **config}, {}
    for config in [{}, {"add_bos_token": True}, {"add_eos_token": True}, {"legacy": True}, {"add_prefix_space": False}, {"clean_up_tokenization_spaces": True},
                   decoder((0, "<unk>"), (1, "<s>"), (2, "</s>"), (650, "<extra>"))] + NAMES:
        yield "LlamaTokenizer", "llama", t, "tokenizer.model", config, {}
    for config in [{}, {"add_bos_token": True, "legacy": False}, NAMES[0]]:
        yield "LlamaTokenizer", "mistral", t, "tokenizer.model", config, {}
        yield None, "llama", "sentencepiece-t5/spiece.model", "tokenizer.model", config, {}
        yield "LlamaTokenizer", "mistral", t, "tokenizer.model", {**config, **decoder((1, "<s>"), (2, "</s>"), normalized=True)}, {}
        yield "GemmaTokenizer", "gemma3_text", t, "tokenizer.model", {"bos_token": "<s>", **config}, {}
    for config in [{}, {"add_prefix_space": False}, {"cls_token": "<pad>"}] + masks("<mask>") + NAMES:
        yield "XLMRobertaTokenizer", "xlm-roberta", "sentencepiece-unigram/sentencepiece.bpe.model", "sentencepiece.bpe.model", config, {}
    for config in [{"add_prefix_space": False}, NAMES[0]] + masks("<mask>"):
        yield "CamembertTokenizer", "camembert", "camembert/sentencepiece.bpe.model", "sentencepiece.bpe.model", config, {}
    for config in [{}, {"extra_ids": 5}, NAMES[0], NAMES[3]]:
        yield "T5Tokenizer", "t5", "sentencepiece-t5/spiece.model", "spiece.model", config, {}
    for config in [{"do_lower_case": False}, {"keep_accents": True}, {"add_prefix_space": False}, {"cls_token": "[SEP]"}, NAMES[0]]:
        yield "AlbertTokenizer", "albert", "albert/spiece.model", "spiece.model", config, {}
    for config in [{}, {"do_lower_case": False, "strip_accents": True}, {"tokenize_chinese_chars": False}, {"bos_token": "<s>"}] + masks("[MASK]") + NAMES:
        yield "BertTokenizer", "bert", bert, "vocab.txt", config, {}
    named = {"special_tokens_map.json": {"cls_token": "[MASK]", "additional_special_tokens": ["<extra>"]}}
    yield "BertTokenizer", "bert", bert, "vocab.txt", {"cls_token": "[CLS]"}, named
    yield "BertTokenizer", "bert", bert, "vocab.txt", decoder((2, "[CLS]"), (600, "<img>"), lstrip=True), named
    yield "BertTokenizer", "bert", bert, "vocab.txt", {"mask_token": "<extra>"}, {"added_tokens.json": {"<extra>": 600, "<img>": 601}}
    for config in [{"add_prefix_space": True}] + masks("<mask>") + NAMES:
        yield "RobertaTokenizer", "roberta", ["vocab-json/vocab.json", "vocab-json/merges.txt"], None, config, {}
    for config in [{}, {"tokenizer_class": "PreTrainedTokenizerFast"}, decoder((4, "[MASK]"), lstrip=True)] + NAMES:
        yield "BertTokenizer", "bert", "wordpiece-added/tokenizer.json", "tokenizer.json", config, {"added_tokens.json": {"<img>": 603}}
    for config in [{}, {"legacy": True}, {"add_bos_token": False, "add_eos_token": True}, {"tokenizer_class": "PreTrainedTokenizerFast"}, NAMES[1]]:
        yield "LlamaTokenizer", "llama", "bpe-byte-fallback/tokenizer.json", "tokenizer.json", config, {}
    for config in [{}, {"add_prefix_space": False}, {"tokenizer_class": "PreTrainedTokenizerFast"}]:
        yield "XLMRobertaTokenizer", "xlm-roberta", "unigram-first/tokenizer.json", "tokenizer.json", config, {}
    for config in [{}, {"tokenizer_class": "PreTrainedTokenizerFast"}] + NAMES[:2]:
        yield "RobertaTokenizer", "roberta", "byte-level-prefix/tokenizer.json", "tokenizer.json", config, {}


def main():
    root, out = sys.argv[1], []
    for name, model_type, sources, target, config, others in cases():
        files = {**others, "config.json": {"model_type": model_type}, "tokenizer_config.json": {**({"tokenizer_class": name} if name else {}), **config}}
        sources = [sources] if isinstance(sources, str) else sources
        with tempfile.TemporaryDirectory() as folder:
            for source in sources:
                shutil.copy(os.path.join(root, source), os.path.join(folder, target or os.path.basename(source)))
            for file, content in files.items():
                with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
                    json.dump(content, f)
            t = AutoTokenizer.from_pretrained(folder)
        copies = [[source, target or os.path.basename(source)] for source in sources]
        out.append({"copies": copies, "files": files, "length": len(t), "ids": t(SENTENCES)["input_ids"]})
    with open(os.path.join(root, "published.json"), "w", encoding="utf-8") as f:
        json.dump({"sentences": SENTENCES, "cases": out}, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")
    print(len(out), "cases", file=sys.stderr)


if __name__ == "__main__":
    main()
