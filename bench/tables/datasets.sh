#!/usr/bin/env bash
# Reimers & Gurevych 2020, table 4: what kind of text a student learns from, English-German. Equal steps a row. The paper's
# dictionary alone reaches 94 % of its best STS.
#
#   bench/tables/datasets.sh PROGRAM DATA TEACHER WORK
. "$(dirname "$0")/common.sh"

compare_heading "text"
compare "the teacher, which has seen none" "$teacher" 0
compare "a dictionary: words alone" "$work/set-dict" "$(rows_of dict)"
compare "English sentences, translated word by word with it" "$work/set-gloss" "$(rows_of gloss)"
compare "technical phrases (tldr)" "$work/set-technical" "$(rows_of technical)"
compare "news (WMT newstest)" "$work/set-news" "$(rows_of news)"
compare "captions (Multi30k, STS-B translated)" "$work/set-captions" "$(rows_of captions)"
compare "everyday sentences (Anki, Tatoeba)" "$work/set-everyday" "$(rows_of everyday)"
compare "all sentences" "$work/size-all" "$(rows_of en-de)"
