"""Writes tokenizers for Japanese into tests/golden/token, and the ids that transformers gives with them.

    python reference/golden_japanese.py tests/golden/token

The sentences are our own; the vocabularies are made of their words and characters. Needs transformers 5, fugashi and
ipadic, which is the dictionary that Debian has as mecab-ipadic-utf8.
"""
import collections
import json
import os
import sys
import unicodedata

os.environ["HF_HUB_OFFLINE"] = "1"
import fugashi
import ipadic
from transformers import AutoTokenizer

SENTENCES = [
    "川の近くに古い図書館があります。",
    "彼女は毎朝、駅まで自転車で通っている。",
    "このモデルは文をベクトルに変換し、似た文を検索する。",
    "すもももももももものうち",
    "昨日の夜、雨が降ったので、道がまだ濡れている。",
    "ＡＢＣ社は２０２６年に３㌔先へ移転した。",
    "ｶﾀｶﾅの半角文字と、全角の　空白。",
    "Ｃ言語で書かれたプログラムは、OpenMPなしでも速い。",
    "東京都に住む友人から、長い手紙が届いた。",
    "か\u3099くせい、と書いても「学生」のことだとは限らない。",
    "[MASK]を飲みながら本を読むのが好きだ。",
    "電話番号は０３－１２３４－５６７８です！",
    "",
    " \u3000 ",
    "価格は1,200円（税込）でした。",
    "“引用”と『作品名』と…三点リーダー",
    "😀 今日はとても良い天気ですね🌸",
    "ΟΔΟΣ という語は、İstanbul の話ではない。",
    "それは\tタブと\u2028改行と\x1c区切りを含む文です。",
    "Iceland の EMBEDDING は Calque を使う",
    "龘という漢字を読める人は少ない。",
    "あ" * 12,
    "x" * 101,
    "森林では、鳥の声だけが聞こえていた。",
]
CONFIGS = {
    "japanese-wordpiece": {},
    "japanese-characters": {"subword_tokenizer_type": "character"},
    "japanese-lower": {"do_lower_case": True, "never_split": ["EMBEDDING"]},
    "japanese-raw": {"mecab_kwargs": {"mecab_dic": "ipadic", "normalize_text": False}},
}


def write(path, content):
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.write(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=0) + "\n")


def vocabulary(lower):
    """Words that occur, apart from every third, and the characters of the others."""
    tagger = fugashi.GenericTagger(f'-d "{ipadic.DICDIR}" -r /dev/null')
    pieces = collections.OrderedDict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "EMBEDDING"])
    for sentence in SENTENCES:
        for i, word in enumerate(tagger(unicodedata.normalize("NFKC", sentence))):
            surface = word.surface.lower() if lower else word.surface
            if not surface.strip() or "龘" in surface:
                continue
            for piece in [surface] if i % 3 else [surface[0], *("##" + c for c in surface[1:])]:
                pieces[piece] = None
    return "".join(p + "\n" for p in pieces)


def main():
    root = sys.argv[1]
    write(os.path.join(root, "japanese.json"), SENTENCES)
    for name, config in CONFIGS.items():
        folder = os.path.join(root, name)
        os.makedirs(folder, exist_ok=True)
        write(os.path.join(folder, "vocab.txt"), vocabulary(config.get("do_lower_case", False)))
        write(os.path.join(folder, "tokenizer_config.json"),
              {"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "mecab",
               "subword_tokenizer_type": "wordpiece", "mecab_kwargs": {"mecab_dic": "ipadic"}, **config})
        t = AutoTokenizer.from_pretrained(folder)
        ids = t(SENTENCES)["input_ids"]
        write(os.path.join(folder, "ids.json"), "[" + ",\n".join(json.dumps(i, separators=(",", ":")) for i in ids) + "]\n")
        print(name, type(t).__name__, len(t), sum(i.count(1) for i in ids), file=sys.stderr)


if __name__ == "__main__":
    main()
