"""The text that the model of sentences' ends learns from: a text a line, a language's code and its sentences between tabs.

    sentence_text.py DATA FETCHED ABBREVIATIONS

DATA/parallel/XX-YY/train-{tatoeba,anki,tico,tldr}.tsv.gz (CC BY 2.0 FR, CC0, CC BY 4.0) and dev-ntrex.tsv.gz (CC BY-SA
4.0); FETCHED/text/SOURCE/en-XX.tsv.gz of SOURCES (MPL 2.0), which scripts/fetch-text writes. ABBREVIATIONS: lines of a
code, a tab and an abbreviation (bench_sentence_model abbreviations). Rows are shuffled and joined, so that we know where
they end; some of them are written as people write: without a mark at the end, in a word, in lower case, in
quotation marks, numbered.

Inside of a row a mark may end a sentence, too. There, a word that has a dot more often inside of rows than at their end or
without it is an abbreviation (as in Kiss and Strunk 2006), a rare one is such an end, and in between nobody knows: U+0001
before the blank."""

import collections
import glob
import os
import random
import re
import sys

import language_text

SOURCES = ("libreoffice", "libreoffice-help")
MIN_ROWS, MAX_SHORT, MAX_HELP, A_TEXT, A_WORD = 900, 5000, 1200, 12, 20
TIMES = 3  # each row is written, anew each time
# How often the mark at the end is missing, and the capital at the beginning: much web text is English.
NO_MARK, NO_CAPITAL = collections.defaultdict(lambda: 0.04, en=0.22, tr=0.25), collections.defaultdict(lambda: 0.004, en=0.1)
SHORT = 0.02  # of the rows become sentences of a word
CLOSERS = "\"'”’»)]}“"
FINAL = re.compile(r"[.!?…。！？।॥۔؟։።။។:;]+[\"'”’»)\]}」』“]*$")
QUOTES = [("“", "”"), ("\"", "\""), ("«", "»"), ("„", "“"), ("``", "''"), ("'", "'"), ("« ", " »"), ("(", ")")]
NO_CASE = {"th", "lo", "km", "my", "hi", "mr", "ne", "bn", "ar", "fa", "ur", "he", "ka", "am", "ko", "ta", "te", "kn", "ml",
           "gu", "pa", "si", "ps", "ug", "ja", "zh"}
NO_BLANKS = {"th", "lo", "km", "my"}
ORDINALS = {"de", "da", "nb", "nn", "cs", "sk", "pl", "hu", "fi", "et", "lv", "hr", "bs", "sr", "tr", "lt"}
NUMBER_ENDS = {"en", "es", "fr", "it", "pt", "ro", "nl", "ru", "uk", "bg", "mk", "sv", "el", "ca", "gl", "eo"}


def clean(sentence):
    return " ".join(sentence.replace("\u0001", " ").split())


def read_rows(data, fetched):
    """rows[language] = [sentence]"""
    rows = collections.defaultdict(dict)
    for language, sentences in language_text.read_training(data).items():
        chosen = sorted(sentences)
        random.Random(language).shuffle(chosen)
        for sentence in chosen[:MAX_SHORT]:
            if sentences[sentence] != "train-tico" or FINAL.search(sentence.strip()):
                rows[language][clean(sentence)] = 1
    for path, (_, language) in language_text.files(data, "dev-ntrex"):
        for columns in language_text.rows(path):
            rows[language][clean(columns[1])] = 6 if language in NO_BLANKS else 2
            rows["en"][clean(columns[0])] = 2
    for path in [p for s in SOURCES for p in sorted(glob.glob(f"{fetched}/text/{s}/en-*.tsv.gz"))]:
        language = os.path.basename(path).split(".")[0][3:]
        for column in (0, 1) if language == "de" else (1,):
            chosen = sorted({clean(c[column]) for c in language_text.rows(path) if not re.search(r"[<>%{}$~]", c[column])})
            random.Random(language).shuffle(chosen)
            with_mark = [s for s in chosen if FINAL.search(s) and len(s) > 20 and s[-1] != ":"]
            without = [s for s in chosen if not FINAL.search(s) and 8 < len(s) < 60]
            for sentence in with_mark[:MAX_HELP] + without[:MAX_HELP // 15]:
                rows[language if column else "en"][sentence] = 1
    rows.pop("sl", None)
    return {language: of for language, of in rows.items() if len(of) >= MIN_ROWS}


def word_of(token):
    return token.lstrip("\"'“„«‘([{¿¡—–-").lower()


def count_dots(rows):
    """counts[word] = [inside with a dot, at the end with a dot, without a dot]"""
    counts = collections.defaultdict(lambda: [0, 0, 0])
    for row in rows:
        tokens = row.split()
        for i, token in enumerate(tokens):
            bare = token.rstrip(CLOSERS)
            if bare.endswith(".") and not bare.endswith(".."):
                counts[word_of(bare[:-1])][0 if i + 1 < len(tokens) else 1] += 1
            else:
                counts[word_of(bare.rstrip(".,;:!?…"))][2] += 1
    return counts


def inner_label(language, token, following, first, counts, known):
    """" ", "\\t" or "\\x01 " for the blank between two tokens of a row."""
    bare = token.rstrip(CLOSERS)
    if not bare or bare[-1] not in ".!?…।॥۔؟。！？։።။":
        return " "
    start = following.lstrip("\"'“„«‘([{¿¡—–-*")[:1]
    if start.islower() or not start:
        return " "
    if bare[-1] != ".":
        return "\t" if bare == token and (start.isupper() or bare[-1] in "।॥։።။") else "\u0001 "
    word = word_of(bare[:-1])
    inside, final, without = counts[word]
    if bare.endswith(".."):
        return "\u0001 "
    if len(word) == 1 and word.isalpha() or word in known or "." in word:
        return " "
    if word.isdigit():
        return " " if first or language not in NUMBER_ENDS or start.isdigit() else "\u0001 "
    if inside > final + without:
        return " "
    return "\t" if inside * 4 <= final + without and start.isupper() and len(word) > 2 else "\u0001 "


def label(language, row, counts, known):
    tokens = row.split(" ")
    parts = [tokens[0]]
    for i in range(1, len(tokens)):
        parts += [inner_label(language, tokens[i - 1], tokens[i], i == 1, counts, known), tokens[i]]
    return "".join(parts)


def write_as_people_do(r, language, row):
    """A labeled row, changed now and then."""
    chance = r.random
    match = FINAL.search(row)
    wide = language in NO_BLANKS or language in ("ja", "zh")
    if match and not wide and chance() < NO_MARK[language]:
        row = row[:match.start()]
        if chance() < 0.3:
            row = " ".join(row.split(" ")[:r.randint(1, 4)]).rstrip(",;:\u0001")
    elif match and not wide and chance() < 0.05:
        row = row[:match.start()] + r.choice(["...", "…", "!!", "??", "?!", "!!!", "..", "... ", "!", "?"]).strip()
    elif match and not wide and chance() < 0.01:
        row = row[:match.start()] + ";"
    if match and not wide and language not in NO_CASE and chance() < SHORT:
        words = [w.strip(CLOSERS + ",.!?:;\u0001") for w in re.split(r"[ \t]", row)[:1]]
        if all(len(w) > 1 and w.isalpha() for w in words):
            row = " ".join([words[0][:1].upper() + words[0][1:]] + words[1:]) + r.choice("....!?")
    if chance() < NO_CAPITAL[language] and language not in NO_CASE:
        row = row[:1].lower() + row[1:]
    if chance() < 0.012 and not wide:
        tokens = row.split(" ")
        at = r.randint(0, len(tokens) - 1)
        initials = " ".join(r.choice("ABCDEFGHIJKLMNOPRSTVW") + "." for _ in range(r.randint(1, 2)))
        if "\t" not in row[:1] and tokens[at][:1].isalpha() and language not in NO_CASE:
            row = " ".join(tokens[:at] + [initials, tokens[at][:1].upper() + tokens[at][1:]] + tokens[at + 1:])
    if chance() < 0.05 and "\t" not in row and not wide:
        opening, closing = r.choice(QUOTES)
        row = opening + row + closing
    if chance() < 0.03 and not wide:
        row = r.choice(["- ", "* ", "• ", "%d. ", "%d. ", "%d) ", "(%d) "]).replace("%d", str(r.randint(1, 20))) + row
    return row


def with_word(r, row, word):
    """A row with a word that has a dot before one of its words, which often gets a capital; None: there is no room."""
    tokens = row.split(" ")
    places = [i for i in range(len(tokens)) if tokens[i][:1].isalpha() and not any(m in tokens[i - 1] for m in ".!?\t\u0001")]
    if not places:
        return None
    at = r.choice(places)
    following = tokens[at]
    if r.random() < 0.25:
        following = str(r.randint(1, 900))
    elif r.random() < 0.6:
        following = following[:1].upper() + following[1:]
    return " ".join(tokens[:at] + [word + ".", following] + tokens[at + 1:])


def more_rows(r, language, rows, known):
    """Rows with the abbreviations that CLDR knows, A_WORD for each, or four times that if it has two words, and with
    ordinal numbers."""
    words = [w[:1].lower() + w[1:] if r.random() < 0.5 else w[:1].upper() + w[1:] for w in known
             for _ in range(A_WORD * (4 if " " in w else 1))]
    if language in ORDINALS:
        words += [str(r.randint(1, 31)) for _ in range(len(rows) // 25)]
    made = [with_word(r, r.choice(rows), word) for word in words]
    return [row for row in made if row]


def main(data, fetched, abbreviations):
    known = collections.defaultdict(list)
    with open(abbreviations, encoding="utf-8") as lines:
        for line in lines:
            language, word = line.rstrip("\n").split("\t")
            known[language].append(word.rstrip("."))
    rows = read_rows(data, fetched)
    for language in sorted(rows):
        counts = count_dots(rows[language])
        words = {word.lower() for word in known[language]}
        labeled = [label(language, row, counts, words) for row, times in sorted(rows[language].items())
                   for _ in range(times) if 2 < len(row) < 600]
        for time in range(TIMES):
            r = random.Random(f"{language} {time}")
            written = labeled + more_rows(r, language, labeled, known[language])
            r.shuffle(written)
            written = [write_as_people_do(r, language, row) for row in written]
            for i in range(0, len(written), A_TEXT):
                print(language, *written[i:i + A_TEXT], sep="\t")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
