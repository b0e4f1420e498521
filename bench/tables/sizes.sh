#!/usr/bin/env bash
# Reimers & Gurevych 2020, first edition, table 5: how many pairs a student needs, English-German. Equal steps a row. The last column is the
# paper's: EN-DE of STS 2017, pairs of TED2020, all of them 483,000, on a student (XLM-R) that had read German before. With a
# fifth argument, the curve as SVG, by the build's bench/bench_size_curve.
#
#   bench/tables/sizes.sh PROGRAM DATA TEACHER WORK [CURVE.svg]
. "$(dirname "$0")/common.sh"

table=$(
  compare_heading "so many" "paper (of its all)"
  compare "none: the student before training" "$work/student-of-size-all" 0 "21.3 (26 %)"
  compare 1k "$work/size-1k" "$(rows_of en-de-1k)" "71.5 (89 %)"
  compare 5k "$work/size-5k" "$(rows_of en-de-5k)" "74.5 (93 %)"
  compare 10k "$work/size-10k" "$(rows_of en-de-10k)" "77.0 (96 %)"
  compare 25k "$work/size-25k" "$(rows_of en-de-25k)" "80.0 (100 %)"
  compare "all" "$work/size-all" "$(rows_of en-de)" "80.4 (100 %)"
)
echo "$table"
[ $# -lt 5 ] || awk -F ' *[|] *' '$3 ~ /^[0-9]+$/ && $3 > 0 && $4 ~ /^[0-9.]+$/ { print $3, ($4 + $5 + $6) / 3, $8, $9 }' <<<"$table" |
  "$(dirname "$program")/bench/bench_size_curve" >"$5"
