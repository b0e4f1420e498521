#!/usr/bin/env bash
# From two dumps of a MediaWiki to a filtered translation memory with its report, by one command.
#
#   bench/dump.sh PROGRAM DATA WORK [PAGES]      1500 pages
#
# The dumps are made from DATA/parallel/en-de/train-news.tsv.gz by bench/peers/dumps.py, in WORK, which keeps the corpus.
# Prints what the steps say, and of the aligned pairs how many are rows of the text, alone or with a neighbor.
set -euo pipefail
[ $# -ge 3 ] && [ $# -le 4 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(realpath "$1") data=$2 work=$3 pages=${4:-1500}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"
python3 "$here/peers/dumps.py" "$data/parallel/en-de/train-news.tsv.gz" "$pages" "$work" 1
cat >"$work/corpus.ini" <<END
[align]
source = $work/a.xml.bz2
target = $work/b.xml.bz2
precision = bf16
[score]
precision = bf16
min-precision = 0.95
[filter]
languages = en,de
other-language = 0.9
[dedup]
near = 0.9
[split]
output = corpus.tmx
languages = en,de
END
time "$program" data corpus "$work/corpus.ini" --output "$work/corpus"
for step in 1-align 4-dedup; do
  awk -F '\t' -v step="$step" 'FNR == NR { gold[$1] = $2; gold_row[$1 FS $2]; next }
    { n++; if ($1 FS $2 in gold_row) exact++; else for (a in gold) if (index($1, a) && index($2, gold[a])) { more++; break } }
    END { printf "%s: %d pairs, %.1f %% are rows of the text, %.1f %% more hold one\n", step, n, 100 * exact / n, 100 * more / n }' \
    "$work/gold.tsv" "$work/corpus/steps/$step.tsv"
done
