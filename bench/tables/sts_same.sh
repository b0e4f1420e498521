#!/usr/bin/env bash
# Reimers & Gurevych 2020, first edition, table 1: STS 2017 in one language, Spearman's correlation times 100.
#
#   bench/tables/sts_same.sh PROGRAM DATA TEACHER WORK
. "$(dirname "$0")/common.sh"

files=("$data"/sts/sts17-{en-en,es-es,ar-ar}.tsv)
heading "system" EN-EN ES-ES AR-AR average
row "*of the paper:* SBERT-nli-stsb, the teacher" 83.7 71.1 49.6 68.1
row "mBERT, mean" 54.4 56.7 50.9 54.0
row "XLM-R, mean" 50.7 51.8 25.7 42.7
row "mBERT-nli-stsb" 80.2 83.9 65.3 76.5
row "XLM-R-nli-stsb" 78.2 83.1 64.4 75.3
row "LASER" 77.6 79.7 68.9 75.4
row "mBERT ← SBERT-nli-stsb" 82.5 83.0 78.8 81.4
row "DistilmBERT ← SBERT-nli-stsb" 82.1 84.0 77.7 81.2
row "XLM-R ← SBERT-nli-stsb" 82.5 83.5 79.9 82.0
each_system sts_row "${files[@]}"
sts_row "the teacher's body, Spanish alone ← teacher" "$work/lang-es" "${files[@]::2}" /
sts_row "the teacher's body, Arabic alone ← teacher" "$work/lang-ar" "${files[0]}" / "${files[2]}"
