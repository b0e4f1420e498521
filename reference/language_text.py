"""The text that language identification learns from, and the texts it is measured on: a language's code, a tab and a
sentence a line.

    language_text.py DATA FETCHED OUT     writes these files:

    OUT/train                             what is learned; held out of it are dev, dev-messages, messages
    OUT/{test,dev}-NAME                   XX's side of DATA/parallel/en-XX/{test,dev}-NAME.tsv.gz, TESTS
    OUT/english                           the English sides of dev-ntrex, in parts of 3 to 6 words

The text is DATA/parallel/XX-YY/train-{tatoeba,anki,tico,tldr}.tsv.gz, and messages: what scripts/fetch-text wrote to
FETCHED/text/*/{en-XX.tsv,XX.txt}.gz. OUT/dev is a tenth of a language's sentences of Tatoeba and Anki, at most 500.
Tatoeba's and Anki's sentences are CC BY 2.0 FR, TICO-19 is CC0, tldr CC BY 4.0; files under other licenses are left
out. Messages are under the licenses that scripts/fetch-text lists. No sentence of the test files is trained on, in
whichever language. What a message shares with its English (names, terms that were left untranslated) is not its
language's, and is removed.

A language has MIN_SENTENCES or more, and one script: that of its test files, or of most of its messages. (Half of it
is enough for Tibetan, whose script would otherwise be Dzongkha's alone.) A sentence of a test that several languages'
files have has all of their codes, its file's own first."""

import glob
import gzip
import os
import random
import re
import sys
import unicodedata
import zlib

KINDS = ("train-tatoeba", "train-anki", "train-tico", "train-tldr")
TESTS = ("dev-ntrex", "test-flores", "test-ntrex", "test-tatoeba")
SHORT_SENTENCES = ("train-tatoeba", "train-anki")
MIN_SENTENCES, MAX_SENTENCES, MAX_OTHERS, MAX_MESSAGES, MAX_DEV, MAX_HELD_OUT = 300, 3000, 1000, 3000, 500, 200
ENGLISH = 4  # times as much: other languages' text is full of it
# Names of packages that are no language's code, or another language's; English in other spellings.
NO_CODES = {"roa", "map", "bat", "fiu", "cbk", "qqq", "qps", "sh", "pcm", "sco", "ang", "enm", "simple", "mul", "und"}
CYRILLIC, LATIN, ARABIC = "CYRILLIC", "LATIN", "ARABIC"
SCRIPTS = {"sr": CYRILLIC, "kk": CYRILLIC, "ky": CYRILLIC, "tg": CYRILLIC, "tt": CYRILLIC, "mn": CYRILLIC, "az": LATIN,
           "uz": LATIN, "ku": LATIN, "ms": LATIN, "ug": ARABIC}
WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['’\u0300-\u036f])*")


def rows(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            columns = line.rstrip("\n").split("\t")
            if columns[-1]:
                yield columns


def files(data, pattern):
    """(path, its two languages), in order."""
    for path in sorted(glob.glob(f"{data}/parallel/*/{pattern}.tsv.gz")):
        yield path, os.path.basename(os.path.dirname(path)).split("-")


def kind_of(path):
    return os.path.basename(path).split(".")[0]


def plain(text):
    return " ".join(WORD.findall(text.casefold()))


def read_training(data):
    """sentences[language][sentence] = the kind of file it came from."""
    sentences = {}
    for path, languages in files(data, "train-*"):
        if kind_of(path) not in KINDS:
            continue
        for columns in rows(path):
            for language, sentence in zip(languages, columns):
                sentences.setdefault(language, {}).setdefault(sentence, kind_of(path))
    return sentences


def read_tests(data, name):
    return [(language, columns[i]) for path, languages in files(data, name) for columns in rows(path)
            for i, language in enumerate(languages)]


def message(text, english):
    """Without the English's words, and words in capitals."""
    known, in_capitals = set(WORD.findall(english.casefold())), english.isupper()
    for word in WORD.findall(text):
        if len(word) > 3 and word.casefold() in known or len(word) > 1 and word.isupper() and not in_capitals:
            text = text.replace(word, " ")
    return " ".join(text.split())


def has_script(text, script):
    letters = [c for c in text if c.isalpha()]
    return 2 * sum(unicodedata.name(c, "").startswith(script) for c in letters) > len(letters)


def read_messages(fetched):
    """messages[language] = its texts with their English."""
    messages = {"en": {}}
    for path in sorted(glob.glob(f"{fetched}/text/*/*.gz")):
        match = re.fullmatch(r"(?:en-)?([a-z]+)\.(?:tsv|txt)\.gz", os.path.basename(path))
        if match and match[1] not in NO_CODES:
            of = messages.setdefault(match[1], {})
            for columns in rows(path):
                of.setdefault(columns[-1], columns[0] if len(columns) > 1 else "")
                if len(columns) > 1 and zlib.crc32(columns[0].encode()) % 8 == 0:
                    messages["en"][columns[0]] = ""
    return messages


def cleaned_messages(messages, language, held_out):
    """To learn from, and two parts that are held out, without duplicates."""
    parts, seen, order = ([], [], []), set(held_out), sorted(messages)
    random.Random(language).shuffle(order)
    order.sort(key=lambda s: len(s) < 25)  # the longer ones first
    for original in order:
        text = message(original, messages[original])
        key = plain(text)
        if len(key) < 6 or key in seen or plain(original) in held_out:
            continue
        if language in SCRIPTS and not has_script(text, SCRIPTS[language]):
            continue
        seen.add(key)
        parts[{0: 1, 1: 2}.get(zlib.crc32(key.encode()) % 20, 0)].append(text)
        if len(parts[0]) == MAX_MESSAGES * (ENGLISH if language == "en" else 1):
            break
    return parts


def write_training(data, messages, sentences, out):
    held_out = {plain(sentence) for _, sentence in read_tests(data, "[dt]e*-*")}
    names = "train", "dev", "dev-messages", "messages"
    files = {name: open(f"{out}/{name}", "w", encoding="utf-8") for name in names}
    for language in sorted(set(sentences) | set(messages)):
        kinds = sentences.get(language, {})
        left = [s for s in sorted(kinds) if plain(s) not in held_out]
        random.Random(language).shuffle(left)
        short = [s for s in left if kinds[s] in SHORT_SENTENCES]
        others = [s for s in left if kinds[s] not in SHORT_SENTENCES]
        n_dev = min(MAX_DEV, len(short) // 10)
        parts = cleaned_messages(messages.get(language, {}), language, held_out)
        if len(parts[0]) + len(left) < MIN_SENTENCES // (2 if language == "bo" else 1):
            continue
        n_short = MAX_SENTENCES * (ENGLISH if language == "en" else 1)
        chosen = {"train": short[n_dev:][:n_short] + others[:MAX_OTHERS] + parts[0], "dev": short[:n_dev]}
        for name, part in ("dev-messages", parts[1]), ("messages", parts[2]):
            chosen[name] = [s for s in part if len(s) >= 20][:MAX_HELD_OUT]
        for name, chosen_ones in chosen.items():
            for sentence in chosen_ones:
                print(language, sentence, sep="\t", file=files[name])
    for file in files.values():
        file.close()


def write_tests(data, sentences, out):
    known = {}
    for language, of in sentences.items():
        for sentence in of:
            known.setdefault(sentence, set()).add(language)
    for name in TESTS:
        tests = read_tests(data, name)
        of = {sentence: set(known.get(sentence, ())) for _, sentence in tests}
        for language, sentence in tests:
            of[sentence].add(language)
        with open(f"{out}/{name}", "w", encoding="utf-8") as file:
            for language, sentence in dict.fromkeys(tests):
                if language != "en":
                    print(",".join([language] + sorted(of[sentence] - {language})), sentence, sep="\t", file=file)


def write_english(data, out):
    chosen = random.Random(1)
    with open(f"{out}/english", "w", encoding="utf-8") as file:
        for sentence in sorted({sentence for language, sentence in read_tests(data, "dev-ntrex") if language == "en"}):
            words = sentence.split()
            while words:
                n = chosen.randint(3, 6)
                part, words = words[:n], words[n:]
                if len(part) >= 3:
                    print("en", " ".join(part), sep="\t", file=file)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    data, fetched, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    sentences = read_training(data)
    write_tests(data, sentences, out)
    write_english(data, out)
    write_training(data, read_messages(fetched), sentences, out)


if __name__ == "__main__":
    main()
