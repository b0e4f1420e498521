"""Writes tests/golden/token: tiny tokenizers of every kind and the ids that Hugging Face's `tokenizers` gives with them.

    python reference/golden_tokenizers.py tests/golden/token

Each folder holds what a model directory would hold, and ids.json: one list of ids for each entry of sentences.json, special
tokens included. The text is this file's own. Needs tokenizers, transformers and sentencepiece.
"""
import io
import json
import os
import random
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer

CORPUS = """
The river bends twice before it reaches the old mill, and the miller waves at every boat.
She doesn't know whether they'll come on Monday or on Tuesday; we've asked them 3 times.
Our neighbours bought 12 chairs, 4 tables and 1 lamp for 1,250.50 euros in 2021.
Reading slowly is better than not reading at all, isn't it?
Can you send me the e-mail again, please? I'd like to re-read what you wrote.
The cat sat under the window and watched the snow fall on the garden wall.
Der Fluss macht zwei Bögen, bevor er die alte Mühle erreicht, und der Müller grüßt jedes Boot.
Übermorgen fährt die größte Straßenbahn früher als gewöhnlich ab.
Wir haben zwölf Stühle gekauft; die Tische gehören den Nachbarn.
La rivière fait deux méandres avant d'atteindre le vieux moulin où l'été fut très court.
Garçon, l'addition s'il vous plaît ! Ça coûte combien, déjà ?
El niño soñó con un pingüino pequeño en la mañana de otoño. ¿Quién lo vio? ¡Nadie!
La città è più bella di sera, perché c'è meno traffico.
Река дважды поворачивает, прежде чем достигает старой мельницы.
Мельник машет рукой каждой лодке, а ёж спит под ёлкой.
Ο ποταμός στρίβει δύο φορές πριν φτάσει στον παλιό μύλο.
يلتف النهر مرتين قبل أن يصل إلى الطاحونة القديمة.
الطَّحّانُ يُلَوِّحُ لكلِّ قاربٍ في الصباحِ.
הנהר מתפתל פעמיים לפני שהוא מגיע לטחנה הישנה.
नदी पुरानी चक्की तक पहुँचने से पहले दो बार मुड़ती है।
हर नाव को देखकर चक्की वाला हाथ हिलाता है।
নদীটি পুরোনো কলে পৌঁছানোর আগে দুবার বাঁক নেয়।
แม่น้ำไหลคดเคี้ยวสองครั้งก่อนจะถึงโรงสีเก่า
河流在到达老磨坊之前拐了两个弯。
磨坊主向每一条船挥手。
川は古い水車小屋に着くまでに二度曲がります。
粉屋さんはすべての舟に手を振ります。
강은 오래된 방앗간에 닿기 전에 두 번 굽이친다.
Con sông uốn khúc hai lần trước khi đến cối xay cũ.
Nehir eski değirmene varmadan önce iki kez kıvrılır; İstanbul'da ışık azdı.
""".strip().split("\n")

SENTENCES = CORPUS + [
    "", " ", "   ", "\t\n ", "a", "A", ".", "...", "'", "''", "hello", " hello", "hello ", "  hello   world  ",
    "I'll say we've don't they're he's I'm you'd 'tis 'S 'LL", "tabs\tand\nnewlines\r\nand\rreturns",
    "price: $3.50 (or €3,20) + 10% = ~£4", "user_name@example.org/path?x=1&y=2#top", "C++ && C# || ##ing [unused] <b>",
    "naïve café NAÏVE CAFÉ", "nai\u0308ve cafe\u0301 A\u030angstro\u0308m", "e\u0301\u0323 e\u0323\u0301 o\u0302\u0301", "\u0301 alone",
    "ﬁne ﬂow ﬀ Ⅷ ① ½ ™ ㎏ Ａｂｃ１２３", "straße STRASSE ẞ", "İstanbul ISPARTA ı", "ΣΊΣΥΦΟΣ Σ ΑΣ. ΣΑΣ", "Ǆ ǅ ǆ",
    "日本語とEnglishと中文 mixed文字", "漢字，標點。「引用」、！？", "カタカナ ｶﾀｶﾅ ひらがな がが", "한국어 한글",
    "ภาษาไทยน้ำกำลังไหล", "क्षत्रिय श्री ज्ञान", "ক্ষমা", "עִבְרִית", "مرحبًا بالعالم ﷺ لا", "ខ្មែរ ລາວ မြန်မာ",
    "😀 😃👍🏽 👩‍👩‍👧 🇩🇪🇫🇷 ❤️ 1️⃣", "𝒜𝓁𝓅𝒽𝒶 𝟙𝟚", "zero\u200bwidth\u200cand\u200djoiners\u2060 soft\u00adhyphen \ufeffbom",
    "nbsp\u00a0thin\u2009ideographic\u3000line\u2028para\u2029nel\u0085end", "bell\u0007 esc\u001b del\u007f c1\u009f",
    "replacement \ufffd private \ue000 unassigned \U000e0fff tag \U000e0041", "\u202eright to left\u202c", "½cup 2³ x₁",
    "x" * 100, "x" * 101, "é" * 100, "é" * 101, "水" * 50, "supercalifragilistic" * 8, "ab " * 60, "0123456789" * 5, "1 23 456 7,890.12",
    "-" * 70, "!?" * 30, "▁", "▁▁a ▁b▁ c▁▁d", "Ġx Ċ", "<0x41> <0xE2>", "a  b   c    d", "trailing   ", "\u3000全角 空白\u3000",
    "[CLS] text [SEP]", "[MASK]", " [MASK] x", "x[MASK]y", "[mask] [Mask]", "<s>in</s>", "a <mask> b", "a<mask>b", "  <mask>  ", "<pad><unk>",
    "New York, new york NEW  YORK", "foobar foo bar xfoo foox foo", "#tag #tags x#tag", "²½¼ ٣٤٥ ४५६ Ⅻ", "don’t “quote” – dash — … «guillemets»",
    "snake_case camelCase kebab-case", "http://example.org/%E2%82%AC", "a\u0300\u0301\u0302\u0303\u0304\u0305b", "ﾊﾞｶﾞ ㌔ ㍻", "\u1e9b\u0323", "\u00c5\u212b\u2126",
]

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
XLMR = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=False, indent=None, separators=(",", ":"))
        f.write("\n")


def finish(root, name, tokenizer, keep_json=True, **extra_files):
    """Writes the tokenizer, the other files of its directory, and the ids."""
    folder = os.path.join(root, name)
    os.makedirs(folder, exist_ok=True)
    if keep_json:
        write_json(os.path.join(folder, "tokenizer.json"), json.loads(tokenizer.to_str()))
    for file, content in extra_files.items():
        file = file.replace("__", ".")
        if isinstance(content, bytes):
            with open(os.path.join(folder, file), "wb") as f:
                f.write(content)
        elif isinstance(content, str):
            with open(os.path.join(folder, file), "w", encoding="utf-8", newline="\n") as f:
                f.write(content)
        else:
            write_json(os.path.join(folder, file), content)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    write_json(os.path.join(folder, "ids.json"), [e.ids for e in tokenizer.encode_batch(SENTENCES)])
    print(name, tokenizer.get_vocab_size(), file=sys.stderr)


def bert(lowercase, strip=None, cjk=True):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=cjk, strip_accents=strip, lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=600, special_tokens=SPECIALS, show_progress=False, limit_alphabet=400))
    return t


def bert_template(t, processor):
    cls, sep = t.token_to_id("[CLS]"), t.token_to_id("[SEP]")
    if processor == "template":
        t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", cls), ("[SEP]", sep)])
    else:
        t.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    return t


def wordpiece(root):
    t = bert_template(bert(True), "template")
    finish(root, "wordpiece-uncased", t)
    vocab = "".join(p + "\n" for p, _ in sorted(t.get_vocab().items(), key=lambda x: x[1]))
    finish(root, "vocab-txt-uncased", t, keep_json=False, vocab__txt=vocab)
    t = bert_template(bert(False), "bert")
    finish(root, "wordpiece-cased", t)
    vocab = "".join(p + "\n" for p, _ in sorted(t.get_vocab().items(), key=lambda x: x[1]))
    config = {"do_lower_case": False, "tokenizer_class": "BertTokenizer", "model_max_length": 512, "cls_token": {"content": "[CLS]"}}
    finish(root, "vocab-txt-cased", t, keep_json=False, vocab__txt=vocab, tokenizer_config__json=config)
    t = bert_template(bert(True, strip=False, cjk=False), "bert")
    t.add_tokens(["new york", AddedToken("foo", single_word=True), AddedToken("#tag", lstrip=True, rstrip=True, normalized=False)])
    finish(root, "wordpiece-added", t)
    # MPNet: WordPiece ids, RoBERTa's special tokens
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=420, special_tokens=["<s>", "<pad>", "</s>", "[UNK]"], show_progress=False))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    finish(root, "mpnet", t)


def unigram(root):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    t.train_from_iterator(CORPUS, trainers.UnigramTrainer(vocab_size=500, special_tokens=XLMR, unk_token="<unk>", show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    finish(root, "unigram-first", t)
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Strip(), normalizers.Replace("ß", "ss"), normalizers.NFC()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Metaspace(prepend_scheme="never")])
    t.post_processor = None
    finish(root, "unigram-never", t)
    t.normalizer = normalizers.NFKD()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Metaspace()])
    finish(root, "unigram-split", t)
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(), pre_tokenizers.Split("-", "merged_with_next")])
    finish(root, "unigram-whitespace", t)


RULES = "".join("%s\t%s\n" % (" ".join("%X" % ord(c) for c in a), " ".join("%X" % ord(c) for c in b)) for a, b in [
    ("\t", " "), ("\n", " "), ("\r", " "), ("\u3000", " "), ("\u00a0", " "), ("\u200b", " "), ("ﬁ", "fi"), ("Ａ", "A"), ("e\u0301", "é"), ("o\u0302\u0301", "ố"),
    ("½", "1⁄2"), ("\u00ad", ""), ("…", "..."), ("\u0e4d\u0e32", "\u0e33"), ("A", "a"), ("Å", "å"), ("\u30cf\u3099", "\u30d0")])


def sentencepiece_model(kind, size, plain=False, **options):
    """plain: no normalization at all, white space kept, as Llama has it."""
    rules = "/tmp/calque-golden-rules.tsv"
    with open(rules, "w", encoding="utf-8") as f:
        f.write(RULES)
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=out, vocab_size=size, model_type=kind, character_coverage=0.98,
                                             **({"normalization_rule_name": "identity", "remove_extra_whitespaces": False} if plain else {"normalization_rule_tsv": rules}), num_threads=1, minloglevel=4, **options)
    os.remove(rules)
    return out.getvalue()


def from_directory(root, name, files):
    """A directory without tokenizer.json: what transformers makes of it."""
    folder = os.path.join(root, name)
    os.makedirs(folder, exist_ok=True)
    for file, content in files.items():
        with open(os.path.join(folder, file), "wb") as f:
            f.write(content)
    t = AutoTokenizer.from_pretrained(folder)._tokenizer
    finish(root, name, t, keep_json=False)


def sentencepieces(root):
    config = json.dumps({"tokenizer_class": "XLMRobertaTokenizer", "model_max_length": 512, "mask_token": "<mask>"}).encode()
    from_directory(root, "sentencepiece-unigram", {"sentencepiece.bpe.model": sentencepiece_model("unigram", 450), "tokenizer_config.json": config})
    config = json.dumps({"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False}).encode()
    from_directory(root, "sentencepiece-bpe", {"tokenizer.model": sentencepiece_model("bpe", 650, plain=True, byte_fallback=True), "tokenizer_config.json": config})
    config = json.dumps({"tokenizer_class": "T5Tokenizer", "extra_ids": 0}).encode()
    from_directory(root, "sentencepiece-t5", {"spiece.model": sentencepiece_model("unigram", 450, pad_id=0, eos_id=1, unk_id=2, bos_id=-1), "tokenizer_config.json": config})


def byte_level(root):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=600, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], show_progress=False,
                                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    finish(root, "byte-level", t)
    model = json.loads(t.to_str())["model"]
    merges = "#version: 0.2\n" + "".join((m if isinstance(m, str) else " ".join(m)) + "\n" for m in model["merges"])
    vocab = dict(model["vocab"])
    vocab["<mask>"] = len(vocab)
    # Without a tokenizer.json, RobertaTokenizer's mask takes no blank before it unless tokenizer_config.json says so.
    document = json.loads(t.to_str())
    document["added_tokens"][-1]["lstrip"] = False
    finish(root, "vocab-json", Tokenizer.from_str(json.dumps(document)), keep_json=False, vocab__json=vocab, merges__txt=merges)
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])])
    finish(root, "byte-level-prefix", t)


def metaspace_bpe(root):
    def train(**options):
        t = Tokenizer(models.BPE(unk_token="<unk>", **options))
        t.pre_tokenizer = pre_tokenizers.Metaspace()
        tokens = ["<unk>", "<s>", "</s>"] + (["<0x%02X>" % b for b in range(256)] if options.get("byte_fallback") else [])
        t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=len(tokens) + 400, special_tokens=tokens, limit_alphabet=120, show_progress=False))
        return t

    def refit(t, **changes):
        document = json.loads(t.to_str())
        document["added_tokens"] = [a for a in document["added_tokens"] if not a["content"].startswith("<0x")]
        document["model"].update(changes)
        return Tokenizer.from_str(json.dumps(document))

    t = refit(train(byte_fallback=True, fuse_unk=True), ignore_merges=True)
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = None
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    finish(root, "bpe-byte-fallback", t)
    t = train(fuse_unk=True)
    finish(root, "bpe-fuse", t)
    finish(root, "bpe-no-fuse", refit(t, fuse_unk=False))


def main():
    root = sys.argv[1]
    random.seed(1)
    os.makedirs(root, exist_ok=True)
    write_json(os.path.join(root, "sentences.json"), SENTENCES)
    wordpiece(root)
    unigram(root)
    sentencepieces(root)
    byte_level(root)
    metaspace_bpe(root)


if __name__ == "__main__":
    main()
