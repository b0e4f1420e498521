#!/usr/bin/env bash
# Reimers & Gurevych 2020, first edition, table 2: STS 2017 across languages, Spearman's correlation times 100; then the same on the STS
# benchmark, of which the first sentence stays English and the second is its (machine) translation.
#
#   bench/tables/sts_cross.sh PROGRAM DATA TEACHER WORK
. "$(dirname "$0")/common.sh"

files=()
for language in ar de tr es fr it nl; do files+=("$data/sts/sts17-$language-en.tsv"); done
heading "STS 2017" EN-AR EN-DE EN-TR EN-ES EN-FR EN-IT EN-NL average
row "*of the paper:* SBERT-nli-stsb, the teacher" 1.1 37.1 6.4 25.8 40.4 16.8 28.0 22.2
row "mBERT, mean" 16.7 33.9 16.0 21.5 33.0 34.0 35.6 27.2
row "XLM-R, mean" 17.4 21.3 9.2 10.9 16.6 22.9 26.0 17.8
row "mBERT-nli-stsb" 30.9 62.2 23.9 45.4 57.8 54.3 54.1 46.9
row "XLM-R-nli-stsb" 44.0 59.5 42.4 54.7 63.4 59.4 66.0 55.6
row "LASER" 66.5 64.2 72.0 57.9 69.1 70.8 68.5 67.0
row "mBERT ← SBERT-nli-stsb" 77.2 78.9 73.2 79.2 78.8 78.9 77.3 77.6
row "DistilmBERT ← SBERT-nli-stsb" 76.1 77.7 71.8 77.6 77.4 76.5 74.7 76.0
row "XLM-R ← SBERT-nli-stsb" 77.8 78.9 74.0 79.7 78.5 78.9 77.7 77.9
each_system sts_row "${files[@]}"
echo

crossed=() names=()
for language in de es fr it ru zh; do
  crossed+=("$(crossed_sts $language)")
  names+=("EN-${language^^}")
done
heading "STS benchmark, test" "${names[@]}" average
each_system sts_row "${crossed[@]}"
sts_row "the teacher's body, German alone ← teacher" "$work/size-all" "${crossed[0]}" / / / / /
sts_row "the teacher's body, Spanish alone ← teacher" "$work/lang-es" / "${crossed[1]}" / / / /
for kind in transformer bilstm static static-20k; do
  sts_row "a fresh $kind, German alone ← teacher" "$work/student-$kind" "${crossed[0]}" / / / / /
done
