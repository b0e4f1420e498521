#!/usr/bin/env bash
# What an index in PostgreSQL costs, as Markdown: copying beside psql's \\copy of the same binary files, searches beside
# pgvector's own, and four servers under overload, of which one is killed.
#
#   bench/postgresql.sh [PASSAGES]                     100,000; copying is also measured for it
#   CALQUE_PG_DURABLE=1 bench/postgresql.sh            with fsync
#   ONLY="copy search load" bench/postgresql.sh        some of them
#
# Starts a server of its own (scripts/test-postgresql), whose memory has room for all of the index (CALQUE_PG_BUFFERS,
# 1GB). Needs build/release with bench_postgresql, and Python 3 for the load.
set -euo pipefail
cd "$(dirname "$0")/.."
n=${1:-100000}
if [ -z "${CALQUE_POSTGRESQL:-}" ]; then
  export CALQUE_PG_BUFFERS=${CALQUE_PG_BUFFERS:-1GB}
  exec scripts/test-postgresql bash bench/postgresql.sh "$n"
fi
bench=build/release/bench/bench_postgresql
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
only=${ONLY:-copy search load}
sql() { PGOPTIONS="-c client_min_messages=warning" "$CALQUE_PG_BIN/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }
now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }'; }

PGDATABASE=postgres sql -c "CREATE DATABASE bench"
export PGDATABASE=bench
address=$CALQUE_POSTGRESQL/bench

if [[ $only == *copy* || $only == *search* ]]; then
  "$bench" make "$work/index" "$n" 384
  echo "## Copying $n documents of 20 words, halfvec(384)"
  echo
  echo "| round | calque, rows (s) | psql \\copy of the same rows (s) | share of its speed | calque, with indexes but HNSW (s) |"
  echo "|---:|---:|---:|---:|---:|"
  for round in 1 2 3; do
    sql -c "DROP SCHEMA IF EXISTS calque CASCADE" -c "DROP SCHEMA IF EXISTS raw CASCADE"
    read -r rows all <<<"$("$bench" copy "$work/index" "$address")"
    sql -c "CREATE SCHEMA raw"
    for table in document passage words; do
      [ -f "$work/$table" ] || sql -c "\\copy calque.$table TO '$work/$table' (FORMAT binary)"
      sql -c "CREATE TABLE raw.$table (LIKE calque.$table INCLUDING CONSTRAINTS)"
    done
    sql -c "ALTER TABLE raw.document ADD PRIMARY KEY (number), ADD UNIQUE (id)" \
      -c "ALTER TABLE raw.passage ADD PRIMARY KEY (number)" -c "ALTER TABLE raw.words ADD PRIMARY KEY (passage)"
    begin=$(now)
    for table in document passage words; do sql -c "\\copy raw.$table FROM '$work/$table' (FORMAT binary)"; done
    psql=$(since "$begin")
    echo "| $round | $rows | $psql | $(awk -v a="$psql" -v b="$rows" 'BEGIN { printf "%.2f", a / b }') | $all |"
    sql -c "DROP SCHEMA raw CASCADE"
  done
  rm -f "$work"/document "$work"/passage "$work"/words
  echo
fi
if [[ $only == *search* ]]; then
  begin=$(now)
  "${CALQUE:-build/release/calque}" index approximate "$address" 2>/dev/null
  echo "## Searching"
  echo
  echo "HNSW index made in $(since "$begin") s."
  echo
  "$bench" search "$address" 200
  echo
fi
if [[ $only == *load* ]]; then
  PGDATABASE=postgres sql -c "CREATE DATABASE load"
  "${CALQUE:-build/release/calque}" index new --model sample/teacher "$CALQUE_POSTGRESQL/load" 2>/dev/null
  echo "## Four servers, one killed"
  echo
  bench/postgresql_load.py "${CALQUE:-build/release/calque}" "$CALQUE_POSTGRESQL/load" "$work" 4 20 40
fi
