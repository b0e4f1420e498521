#!/usr/bin/env bash
# sentence-transformers' table of multilingual models: ten pairs of STS 2017 and its extension, Spearman's correlation times 100.
# The extension (de, fr, it, nl with English) stands at sts/sts17-XX-en.tsv where a user has it.
#
#   bench/tables/ten_pairs.sh PROGRAM DATA TEACHER WORK
. "$(dirname "$0")/common.sh"

files=()
for pair in ar-ar ar-en es-es es-en en-en tr-en de-en fr-en it-en nl-en; do files+=("$data/sts/sts17-$pair.tsv"); done
heading "model" AR-AR AR-EN ES-ES ES-EN EN-EN TR-EN EN-DE FR-EN IT-EN NL-EN average
row "*theirs:* XLM-R, mean" 25.7 17.4 51.8 10.9 50.7 9.2 21.3 16.6 22.9 26.0 25.2
row "mBERT, mean" 50.9 16.7 56.7 21.5 54.4 16.0 33.9 33.0 34.0 35.6 35.3
row "LASER" 68.9 66.5 79.7 57.9 77.6 72.0 64.2 69.1 70.8 68.5 69.5
row "distiluse-base-multilingual-cased" 75.9 77.6 85.3 78.7 85.4 75.5 80.3 80.2 80.5 81.7 80.1
each_system sts_row "${files[@]}"
