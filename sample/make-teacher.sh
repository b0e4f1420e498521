#!/bin/sh
# Makes the small English teacher in sample/teacher: a transformer of three layers and 128 dimensions that learns the first
# 128 dimensions of a large English model (all-MiniLM-L6-v2, Apache-2.0) on nothing but this project's own sentences.
#
#   sample/make-teacher.sh [PROGRAM [LARGE_MODEL [WORK_DIRECTORY]]]
#
# PROGRAM is the calque to use (build/release/calque), LARGE_MODEL a directory or a name in the local Hugging Face cache
# (all-MiniLM-L6-v2). About ten minutes on two free cores. One build of calque at one SIMD level writes the same bits every
# time; another may round differently, so expect a teacher as good as the stored one, not the same bytes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
calque=${1:-$here/../build/release/calque}
large=${2:-all-MiniLM-L6-v2}
work=${3:-$(mktemp -d)}
mkdir -p "$work"

# Two columns: each sentence, and the same without capitals and punctuation, so that hasty spelling is understood too.
python3 "$here/generate.py" --english >"$work/english.txt"
awk '{ plain = tolower($0); gsub(/[.,?!]/, "", plain); print $0 "\t" plain }' "$work/english.txt" >"$work/pairs.tsv"
head -n 500 "$work/pairs.tsv" >"$work/dev.tsv"
tail -n +501 "$work/pairs.tsv" >"$work/train.tsv"

"$calque" model new --kind transformer --dim 128 --layers 3 --heads 4 --feed-forward 512 --max-length 64 --dropout 0 \
  --text "$work/english.txt" --vocab-size 1400 --replace "$work/fresh"
"$calque" distill --teacher "$large" --student "$work/fresh" --dim-match truncate \
  --train "english=$work/train.tsv" --dev "english=$work/dev.tsv" --sts "english=$here/sts/en-en.tsv" \
  --epochs 8 --batch 64 --lr 2e-3 --warmup 0.05 --eps 1e-8 --evaluate-every 2000 --best-by mse \
  --cache "$work/cache" --output "$work/teacher" --replace
for file in "$work"/teacher/*; do
  case $file in *.jsonl) continue ;; esac # the log of the run
  cp -R "$file" "$here/teacher/"
done
