"""Writes tests/golden/whitespace/: sentence-transformers' WhitespaceTokenizer on awkward sentences.

    python reference/golden_whitespace.py tests/golden/whitespace

needs sentence-transformers (made with 6.2). NAME/whitespacetokenizer_config.json is the tokenizer; NAME/expected.jsonl has
{"text", "ids"} a line.
"""

import json
import os
import sys

from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

VOCABULARY = ["PADDING_TOKEN", "House", "house", "cat", "don't", "the", "naïve", "straße", "δρόμος", "U.S.", "a", "-", "o'clock",
              "ι\u0307", "i\u0307stanbul", "猫", "...", "New", "york"]
SENTENCES = ["", " ", "the cat", "The CAT!", "  house\tHouse\nHOUSE  ", "(house)", "'don't'", "don't, don't.", "naïve NAÏVE Naïve",
             "STRASSE Straße", "ΔΡΌΜΟΣ δρόμος", "U.S. u.s. (U.S.)", "a - b", "... .... ,...", "at 5 o'clock", "İstanbul",
             "猫 猫。", "New\u00a0York new york", "New\u2003york", "unknown words only", "cat\u001ccat\u001fcat", "--house--cat", "!!!"]


def main():
    folder = sys.argv[1]
    for name, options in {"plain": {"stop_words": ["the", "!!!", "york"]}, "lower": {"stop_words": [], "do_lower_case": True}}.items():
        path = os.path.join(folder, name)
        os.makedirs(path, exist_ok=True)
        tokenizer = WhitespaceTokenizer(vocab=VOCABULARY, **options)
        tokenizer.save(path)
        with open(os.path.join(path, "expected.jsonl"), "w", encoding="utf8") as out:
            for text in SENTENCES:
                print(json.dumps({"text": text, "ids": tokenizer.tokenize(text)}), file=out)


main()
