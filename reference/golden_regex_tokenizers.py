"""Writes what tests/golden/token has of tokenizers that split by regular expression: those of today's decoders, and splits.json.

    python reference/golden_regex_tokenizers.py tests/golden/token

The folders are made like golden_tokenizers.py's, for the same sentences. splits.json has what `tokenizers` makes of a text with
each pattern, behavior and inversion, [pattern, behavior, invert, text, [word, ...]]. Needs tokenizers and transformers.
"""
import json
import os
import sys

from golden_tokenizers import CORPUS, SENTENCES, finish, write_json
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
QWEN2 = ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = "|".join([r"[^\r\n\p{L}\p{N}]?" + UPPER + "*" + LOWER + "+" + ENDINGS + "?", r"[^\r\n\p{L}\p{N}]?" + UPPER + "+" + LOWER + "*" + ENDINGS + "?",
                  r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"

PATTERNS = [QWEN2, LLAMA3, O200K, CL100K, r"\s+", r"-", r"a*", r"\w+|[^\w\s]+", r"\b", r"\B", r"(?m:^.)", r"^", r"$", r".", r"(?m).+", r"\h+", r"\H", r"[[:alpha:]]+",
            r"[[:^alpha:]]", r"[[:punct:]]", r"\p{Punct}+", r"\p{^L}", r"\P{^Lu}", r"[a-z&&[^aeiou]]+", r"[^a-z&&[^aeiou]]", r"(?i)STRASSE|the", r"(ab|a)(?:c|bcd)?", r"x{2,3}+y?",
            r"a{,2}", r"a{2}?", r"a{1,2}?", r"{", r"a{x}", r"[-a]", r"[a-]", r"[\w-]", r"\x{e9}|\u0301|\x41?", r"(?<=\d)(?=\p{L})", r"(?<name>o)w", r"(?>a|ab)c", r"(?#ha)b", r"\R", r"\v|\a|\e",
            r"\p{Han}+", r"\p{Greek}+|\p{Cyrillic}", r"[\p{Hiragana}\p{Katakana}]+", r"[[a-c][x-z]]", r"[\[\]\\&~]", r"[!-/:-@]", r"\d+", r"[^\s]+", r"\A.", r".\z", r".\Z",
            r"[\p{L}\p{M}]+", r"\p{L}&&", r"a|b|", r"é", r"[é-ü]", r"\.", r"\ ", r"#", r"]", r"}", r"\p{Alnum}", r"\p{Word}\p{XDigit}\p{Blank}?", r"[[:word:][:blank:]]"]
TEXTS = ["", "a--b-", "-a", "I'll say WE'VE 12345 times\r\n\r\n  and  more \t\n", "aaabcd ab abc aaaaa{x} aa\u0301 é ü ABCdefGHI", "Straße STRASSE the ΣΊΣΥΦΟΣ река", "xxxxxxy xx y #how now [&]~",
         "line one\nline two\r\nline\u2028three\u0085four\vfive\n", "日本語カタカナ, 한글 नमस्ते मरम्मत x\u200dy\u200cz", "1st 2nd ٣rd ½ Ⅻ $+<=>^`|~ !?", "😀👍🏽 a😀b 𝒜𝓁", "\u0301\u0301a", "snake_case \u203f tie", "   ", "\x07\x1b\x0b"]


def words(splitter, text):
    return [word for word, _ in splitter.pre_tokenize_str(text)]


def splits(root):
    rows = []
    for pattern in PATTERNS:
        for text in TEXTS:
            rows.append([pattern, "Isolated", False, text, words(pre_tokenizers.Split(Regex(pattern), "isolated"), text)])
    names = {"Removed": "removed", "Isolated": "isolated", "MergedWithPrevious": "merged_with_previous", "MergedWithNext": "merged_with_next", "Contiguous": "contiguous"}
    for behavior, name in names.items():
        for invert in False, True:
            for pattern in [r"-", r"a*", r"\p{N}{1,2}", r"(?=b)", "--"]:
                for text in ["", "-", "a--b-", "--", "b123456-a7", "aab", "bb"]:
                    rows.append([pattern, behavior, invert, text, words(pre_tokenizers.Split(Regex(pattern), name, invert), text)])
                    rows.append([{"String": pattern}, behavior, invert, text, words(pre_tokenizers.Split(pattern, name, invert), text)])
    with open(os.path.join(root, "splits.json"), "w", encoding="utf-8") as f:
        f.write("[" + ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows) + "]\n")


def byte_level(pattern, size=600, **options):
    t = Tokenizer(models.BPE(**options))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.decoder = decoders.ByteLevel()
    return t


def around(t, before, after, pad=None):
    ids = [(x, t.token_to_id(x)) for x in before + after]
    template = processors.TemplateProcessing(single=" ".join(before + ["$A"] + after), special_tokens=ids)
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template]) if t.decoder and "ByteLevel" in str(t.decoder) else template


def qwen2(corpus_size=600):
    t = byte_level(QWEN2, corpus_size)
    t.normalizer = normalizers.NFC()
    t.add_special_tokens([AddedToken(x, special=True, normalized=False) for x in ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]])
    around(t, [], ["<|endoftext|>"])
    return t


def llama3(size=600):
    t = byte_level(LLAMA3, size, ignore_merges=True)
    t.add_special_tokens([AddedToken(x, special=True, normalized=False) for x in ["<|begin_of_text|>", "<|end_of_text|>"]])
    around(t, ["<|begin_of_text|>"], [])
    # ignore_merges shows: a word that the merges do not make
    document = json.loads(t.to_str())
    vocab = document["model"]["vocab"]
    for word in ["zqzq", "Ġsupercalifragilistic"]:
        document["added_tokens"] = [dict(a, id=a["id"] + 1) for a in document["added_tokens"]]
        vocab[word] = len(vocab)
    special = {a["content"]: a["id"] for a in document["added_tokens"]}
    for name, entry in document["post_processor"]["processors"][1]["special_tokens"].items():
        entry["ids"] = [special[name]]
    return Tokenizer.from_str(json.dumps(document))


def o200k():
    t = byte_level(O200K)
    t.add_special_tokens([AddedToken("<|endoftext|>", special=True, normalized=False)])
    return t


def gemma(size=400):
    specials = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    bytes_ = ["<0x%02X>" % b for b in range(256)]
    t = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.train_from_iterator([line.replace(" ", "▁") for line in CORPUS], trainers.BpeTrainer(vocab_size=size + len(bytes_), special_tokens=specials + bytes_, limit_alphabet=120, show_progress=False))
    document = json.loads(t.to_str())
    document["added_tokens"] = [a for a in document["added_tokens"] if not a["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(document))
    around(t, ["<bos>"], ["<eos>"])
    return t


def main():
    root = sys.argv[1]
    assert len(SENTENCES) > 100
    splits(root)
    for name, t in [("qwen2", qwen2()), ("llama3", llama3()), ("o200k", o200k()), ("gemma", gemma())]:
        finish(root, name, t)


if __name__ == "__main__":
    main()
