#!/usr/bin/env bash
# Reimers & Gurevych 2020, table 5: how many pairs a student needs, English-German. Equal steps a row. With a fifth argument,
# the curve as SVG, by the build's bench/bench_size_curve.
#
#   bench/tables/sizes.sh PROGRAM DATA TEACHER WORK [CURVE.svg]
. "$(dirname "$0")/common.sh"

table=$(
  compare_heading "so many"
  compare "none: the student before training" "$work/student-of-size-all" 0
  for size in 1k 5k 10k 25k; do compare "$size" "$work/size-$size" "$(rows_of "en-de-$size")"; done
  compare "all" "$work/size-all" "$(rows_of en-de)"
)
echo "$table"
[ $# -lt 5 ] || awk -F ' *[|] *' '$3 ~ /^[0-9]+$/ && $3 > 0 && $4 ~ /^[0-9.]+$/ { print $3, ($4 + $5 + $6) / 3, $8, $9 }' <<<"$table" |
  "$(dirname "$program")/bench/bench_size_curve" >"$5"
