#!/usr/bin/env bash
# Reimers & Gurevych 2020, first edition, table 4: what kind of text a student learns from, English-German. Equal steps a row.
# The last column is the paper's nearest kind of text: EN-DE of STS 2017 (of what all its text gives), on a student (XLM-R) that
# had read German before.
#
#   bench/tables/datasets.sh PROGRAM DATA TEACHER WORK
. "$(dirname "$0")/common.sh"

compare_heading "text" "paper (of its all)"
compare "the teacher, which has seen none" "$teacher" 0 "XLM-R, mean: 21.3 (26 %)"
compare "a dictionary: words alone" "$work/set-dict" "$(rows_of dict)" "MUSE, 101k: 75.8 (93 %)"
compare "English sentences, translated word by word with it" "$work/set-gloss" "$(rows_of gloss)" —
compare "technical phrases (tldr)" "$work/set-technical" "$(rows_of technical)" —
compare "news (WMT newstest)" "$work/set-news" "$(rows_of news)" "NewsCommentary, 118k: 77.7 (95 %)"
compare "captions (Multi30k, STS-B translated)" "$work/set-captions" "$(rows_of captions)" —
compare "everyday sentences (Anki, Tatoeba)" "$work/set-everyday" "$(rows_of everyday)" "Tatoeba, 303k: 79.5 (98 %)"
compare "all sentences" "$work/size-all" "$(rows_of en-de)" "all, 25M: 81.4 (100 %)"
