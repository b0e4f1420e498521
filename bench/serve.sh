#!/usr/bin/env bash
# `calque serve` on this machine: latency, throughput, overload, search, memory; docs/results/serving.md.
#
#   bench/serve.sh WHAT BUILD MODEL TEXTS WORK
#
#   WHAT   one | many | peer | overload | search | hour | all (all but the hour)
#   BUILD  build/release: has calque, bench/bench_http_load and bench/bench_serve_library
#   MODEL  a directory
#   TEXTS  .tsv, plain or gzipped: sentences in its first column, of which the first N_TEXTS (1000) are sent
#   WORK   keeps requests, logs, the peer's virtual environment, the hour's table and chart
#
#   ROUNDS   5: server and library (or peer) are measured in turn; figures are medians
#   SECONDS_EACH  10: of each measurement
#   INDEX    an index for `search`, and for `hour`, too; APPROXIMATE=1: also a copy of it with ANN (METHOD hnsw)
#   DURATION 3600 seconds, RATE 8 requests a second: the hour
#   QUEUE_TOKENS  40: may wait in `overload`. It bounds an accepted request's wait, so it decides the p99.
#   VENV     WORK/infinity: made where it is missing; ENGINES "torch": of infinity_emb
#
# The load generator runs on the same cores; `load` is its share of one core.
set -euo pipefail
[ $# -eq 5 ] || { sed -n '2,21s/^# \{0,1\}//p' "$0" >&2; exit 2; }
what=$1 model=$3 texts=$4
here=$(cd "$(dirname "$0")" && pwd) build=$(cd "$2" && pwd)
mkdir -p "$5"
work=$(cd "$5" && pwd)
program=$build/calque load=$build/bench/bench_http_load library=$build/bench/bench_serve_library
rounds=${ROUNDS:-5} each=${SECONDS_EACH:-10} n_texts=${N_TEXTS:-1000}
server=
stop_server() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
  server=
}
trap stop_server EXIT
trap 'exit 1' INT TERM

# ---- servers, figures ----

start_calque() { # OPTION...: sets server and port
  "$program" serve "$@" --port 0 >"$work/serve.log" 2>&1 &
  server=$!
  for _ in $(seq 300); do
    port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$work/serve.log")
    [ -z "$port" ] || return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  cat "$work/serve.log" >&2
  exit 1
}
memory() { # FIELD: VmRSS or VmHWM of the server, in MiB
  awk -v field="$1:" '$1 == field { printf "%.0f", $2 / 1024 }' "/proc/$server/status"
}
value() { # COLUMN FILE: of the last line of a table
  awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } END { print $at }' "$2"
}
median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
column() { # COLUMN FILE...: the median of the files' values
  local name=$1 file
  shift
  for file in "$@"; do value "$name" "$file"; done | median
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }
of_core() { # FILE...: the load generator's share of a core
  local file
  for file in "$@"; do ratio "$(value cpu_s "$file")" "$(value seconds "$file")" && echo; done | median |
    awk '{ printf "%.0f %%", 100 * $1 }'
}
ask() { # FILE OPTION...: a load on the server; what is lost or bad is an error
  local file=$1
  shift
  "$load" "$port" "$@" >"$file" || { echo "lost or bad answers:" >&2; cat "$file" >&2; exit 1; }
}

case $texts in *.gz) gzip -dc "$texts" ;; *) cat "$texts" ;; esac |
  cut -f 1 | tr -d '"\\' | awk -v n="$n_texts" 'NR <= n' >"$work/texts"
awk '{ printf "POST\t/v1/embeddings\t{\"input\":\"%s\",\"model\":\"m\"}\n", $0 }' "$work/texts" >"$work/requests"
awk '{ printf "POST\t/v1/embeddings\t{\"input\":\"%s\",\"model\":\"m\",\"encoding_format\":\"base64\"}\n", $0 }' \
  "$work/texts" >"$work/requests64"

# ---- one client, many clients ----

measure_one() {
  local i
  start_calque --model "$model"
  for i in $(seq "$rounds"); do
    ask "$work/one-$i.tsv" "$work/requests" --same --seconds "$each"
    ask "$work/one64-$i.tsv" "$work/requests64" --same --seconds "$each"
    "$library" one "$model" "$work/texts" --seconds "$each" >"$work/one-library-$i.tsv"
  done
  stop_server
  local p50 p99 form
  p50=$(column p50_ms "$work"/one-library-*.tsv) p99=$(column p99_ms "$work"/one-library-*.tsv)
  echo "| one short text, one client | p50, ms | p99, ms | p50 to the library's | p99 to the library's | load |"
  echo "|---|---:|---:|---:|---:|---:|"
  echo "| cq_encoder_encode | $p50 | $p99 | 1 | 1 | |"
  for form in one one64; do
    echo "| calque serve, $([ $form = one ] && echo floats || echo base64) | $(column p50_ms "$work"/$form-[0-9]*.tsv) |" \
      "$(column p99_ms "$work"/$form-[0-9]*.tsv) | $(ratio "$(column p50_ms "$work"/$form-[0-9]*.tsv)" "$p50") |" \
      "$(ratio "$(column p99_ms "$work"/$form-[0-9]*.tsv)" "$p99") | $(of_core "$work"/$form-[0-9]*.tsv) |"
  done
}

measure_many() {
  local i
  start_calque --model "$model"
  for i in $(seq "$rounds"); do
    ask "$work/many-$i.tsv" "$work/requests" --same --clients 64 --seconds "$each"
    ask "$work/many64-$i.tsv" "$work/requests64" --same --clients 64 --seconds "$each"
    "$library" batch "$model" "$work/texts" --seconds "$each" >"$work/many-library-$i.tsv"
  done
  stop_server
  local all form
  all=$(column texts_per_s "$work"/many-library-*.tsv)
  echo "| short texts | texts/s | to one call | p50, ms | p99, ms | load |"
  echo "|---|---:|---:|---:|---:|---:|"
  echo "| one call of cq_encoder_encode, $n_texts texts | $all | 1 | | | |"
  for form in many many64; do
    echo "| 64 clients, $([ $form = many ] && echo floats || echo base64) | $(column ok_per_s "$work"/$form-[0-9]*.tsv) |" \
      "$(ratio "$(column ok_per_s "$work"/$form-[0-9]*.tsv)" "$all") | $(column p50_ms "$work"/$form-[0-9]*.tsv) |" \
      "$(column p99_ms "$work"/$form-[0-9]*.tsv) | $(of_core "$work"/$form-[0-9]*.tsv) |"
  done
}

# ---- infinity ----

start_infinity() { # ENGINE
  port=$((20000 + RANDOM % 20000))
  # Set OPENBLAS_CORETYPE and its like would slow it; it may not ask a hub for anything.
  env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE HF_HUB_OFFLINE=1 DO_NOT_TRACK=1 INFINITY_ANONYMOUS_USAGE_STATS=0 \
    "$venv/bin/infinity_emb" v2 --model-id "$model" --engine "$1" --device cpu --host 127.0.0.1 --port "$port" \
    --url-prefix /v1 --served-model-name m --no-bettertransformer --log-level warning >"$work/infinity.log" 2>&1 &
  server=$!
  for _ in $(seq 600); do
    curl -s -o "$work/infinity.health" "http://127.0.0.1:$port/v1/models" && return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.5
  done
  tail -n 20 "$work/infinity.log" >&2
  exit 1
}

measure_peer() {
  local engine clients i engines=${ENGINES:-torch}
  venv=${VENV:-$work/infinity}
  [ -x "$venv/bin/infinity_emb" ] || "$here/peers/infinity_setup.sh" "$venv"
  echo "| clients | server | requests/s | p50, ms | p99, ms | resident, MiB | at most, MiB |"
  echo "|---:|---|---:|---:|---:|---:|---:|"
  for clients in ${CLIENTS:-1 64}; do
    for i in $(seq "$rounds"); do
      for engine in calque $engines; do
        if [ "$engine" = calque ]; then start_calque --model "$model"; else start_infinity "$engine"; fi
        ask "$work/peer-$engine-$clients-$i.tsv" "$work/requests" --clients "$clients" --seconds "$each" --warm-up 3
        printf 'VmRSS\tVmHWM\n%s\t%s\n' "$(memory VmRSS)" "$(memory VmHWM)" >"$work/peermem-$engine-$clients-$i.tsv"
        stop_server
      done
    done
    for engine in calque $engines; do
      echo "| $clients | $([ "$engine" = calque ] && echo calque serve || echo "infinity_emb, $engine") |" \
        "$(column ok_per_s "$work"/peer-"$engine"-"$clients"-*.tsv) | $(column p50_ms "$work"/peer-"$engine"-"$clients"-*.tsv) |" \
        "$(column p99_ms "$work"/peer-"$engine"-"$clients"-*.tsv) | $(column VmRSS "$work"/peermem-"$engine"-"$clients"-*.tsv) |" \
        "$(column VmHWM "$work"/peermem-"$engine"-"$clients"-*.tsv) |"
    done
  done
}

# ---- overload ----

measure_overload() {
  local before after capacity seconds=${OVERLOAD_SECONDS:-60} tokens=${QUEUE_TOKENS:-40}
  start_calque --model "$model" --queue-tokens "$tokens"
  ask "$work/overload-none.tsv" "$work/requests" --same --clients 1 --seconds "$each"
  stop_server
  start_calque --model "$model"
  ask "$work/overload-full.tsv" "$work/requests" --same --clients 64 --seconds "$each"
  stop_server
  capacity=$(value ok_per_s "$work/overload-full.tsv")
  start_calque --model "$model" --queue-tokens "$tokens"
  ask "$work/overload-warm.tsv" "$work/requests" --same --clients 512 --rate "$(ratio "$capacity" 0.1)" --seconds 3
  before=$(memory VmRSS)
  ask "$work/overload.tsv" "$work/requests" --same --clients 512 --rate "$(ratio "$capacity" 0.1)" --seconds "$seconds"
  after=$(memory VmRSS)
  stop_server
  local f=$work/overload.tsv
  echo "| overload | asked/s | answers | accepted | refused (429) | others | lost | bad | p50, ms | p99, ms | p99 of 429, ms | resident, MiB | load |"
  echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
  for f in overload-none overload-full overload; do
    f=$work/$f.tsv
    echo "| $(case $f in *none*) echo one client ;; *full*) echo 64 clients ;; *) echo "10 x, $seconds s" ;; esac) |" \
      "$(value rate "$f") | $(value answers "$f") | $(value ok "$f") | $(value refused "$f") | $(value other "$f") |" \
      "$(value lost "$f") | $(value bad "$f") | $(value p50_ms "$f") | $(value p99_ms "$f") |" \
      "$(value refused_p99_ms "$f") | $(case $f in */overload.tsv) echo "$before, then $after" ;; esac) | $(of_core "$f") |"
  done
  echo
  echo "$(value unsent "$work/overload.tsv") requests were due and not sent: no connection was free."
}

# ---- search ----

measure_search() {
  [ -n "${INDEX:-}" ] || { echo "search needs INDEX" >&2; exit 2; }
  local mode kind index=$INDEX
  awk '{ printf "POST\t/api/search\t{\"query\":\"%s\",\"mode\":\"hybrid\"}\n", $0 }' "$work/texts" >"$work/search-hybrid"
  awk '{ printf "POST\t/api/search\t{\"query\":\"%s\",\"mode\":\"dense\"}\n", $0 }' "$work/texts" >"$work/search-dense"
  awk '{ printf "POST\t/api/search\t{\"query\":\"%s\",\"mode\":\"words\"}\n", $0 }' "$work/texts" >"$work/search-words"
  echo "| one query, one client | mode | p50, ms | p99, ms | queries/s | load |"
  echo "|---|---|---:|---:|---:|---:|"
  for kind in exact approximate; do
    if [ $kind = approximate ]; then
      [ -n "${APPROXIMATE:-}" ] || continue
      if [ ! -d "$work/index-approximate" ]; then
        cp -r "$INDEX" "$work/index-copy"
        "$program" index approximate --method "${METHOD:-hnsw}" --quiet "$work/index-copy"
        mv "$work/index-copy" "$work/index-approximate"
      fi
      index=$work/index-approximate
    fi
    # shellcheck disable=SC2086
    start_calque "$index" ${SERVE_OPTIONS:-}
    for mode in hybrid dense words; do
      ask "$work/search-$kind-$mode.tsv" "$work/search-$mode" --seconds "$each"
      local f=$work/search-$kind-$mode.tsv
      echo "| $kind | $mode | $(value p50_ms "$f") | $(value p99_ms "$f") | $(value ok_per_s "$f") | $(of_core "$f") |"
    done
    stop_server
  done
}

# ---- an hour ----

# Texts of 1 to 2,000 words to all routes, errors among them.
write_mixed() {
  tr '\n' ' ' <"$work/texts" | tr -s ' ' | awk -v index_given="${INDEX:+1}" '
    function text(n,    s, i) {
      for (i = 0; i < n; i++) s = s (i ? " " : "") word[int(rand() * n_words) + 1]
      return "\"" s "\""
    }
    function texts(n, length_of,    s, i) {
      for (i = 0; i < n; i++) s = s (i ? "," : "") text(1 + int(rand() * length_of))
      return "[" s "]"
    }
    { for (i = 1; i <= NF; i++) word[++n_words] = $i }
    END {
      srand(7)
      for (k = 0; k < 400; k++) {
        long = int(exp(rand() * log(2000))) + 1
        printf "POST\t/v1/embeddings\t{\"input\":%s}\n", text(long)
        printf "POST\t/v1/embeddings\t{\"input\":%s,\"encoding_format\":\"base64\",\"dimensions\":64}\n", texts(8, 40)
        printf "POST\t/embed\t{\"inputs\":%s,\"on_long\":\"window\"}\n", text(long)
        printf "POST\t/embed\t{\"inputs\":%s,\"normalize\":false}\n", texts(4, 100)
        printf "POST\t/similarity\t{\"inputs\":{\"source_sentence\":%s,\"sentences\":%s}}\n", text(9), texts(5, 30)
        printf "POST\t/tokenize\t{\"inputs\":%s}\n", text(long)
        printf "POST\t/api/similarity\t{\"a\":%s,\"b\":%s}\n", texts(3, 20), texts(3, 20)
        printf "POST\t/api/mine\t{\"source\":%s,\"target\":%s}\n", texts(6, 20), texts(6, 20)
        printf "POST\t/api/map\t{\"texts\":%s}\n", texts(5, 20)
        if (index_given) {
          printf "POST\t/api/search\t{\"query\":%s}\n", text(1 + int(rand() * 12))
          printf "POST\t/api/search\t{\"query\":%s,\"mode\":\"words\"}\n", text(2)
          printf "GET\t/api/search?q=%s&k=5\t\n", word[int(rand() * n_words) + 1]
          printf "GET\t/api/documents/%d\t\n", k
        }
        printf "POST\t/embed\t{\"inputs\":%s,\"truncate\":false}\n", text(1500)
        printf "POST\t/embed\t{\"inputs\":\n"
        printf "GET\t/%s\t\n", k % 6 == 0 ? "info" : k % 6 == 1 ? "health" : k % 6 == 2 ? "metrics" : k % 6 == 3 ? \
               "v1/models" : k % 6 == 4 ? "openapi.json" : "api/info"
      }
    }' >"$work/mixed"
}

measure_hour() {
  local duration=${DURATION:-3600} rate=${RATE:-8} begun status=0
  write_mixed
  if [ -n "${INDEX:-}" ]; then start_calque "$INDEX"; else start_calque --model "$model"; fi
  begun=$(date +%s)
  echo "seconds,resident_kib,anonymous_kib" >"$work/hour.csv"
  "$load" "$port" "$work/mixed" --clients 64 --rate "$rate" --seconds "$duration" >"$work/hour.tsv" 2>"$work/hour.statuses" &
  local loader=$!
  while kill -0 "$loader" 2>/dev/null; do
    awk -v t=$(($(date +%s) - begun)) '$1 == "VmRSS:" { all = $2 } $1 == "RssAnon:" { anonymous = $2 }
      END { print t "," all "," anonymous }' "/proc/$server/status" >>"$work/hour.csv"
    sleep "$(awk -v d="$duration" 'BEGIN { print d < 400 ? 1 : d / 400 }')"
  done
  wait "$loader" || status=$?
  curl -s "http://127.0.0.1:$port/metrics" >"$work/hour.metrics"
  stop_server
  "$build/bench/bench_serve_memory" <"$work/hour.csv" >"$work/hour.svg"
  local f=$work/hour.tsv
  echo "| seconds | requests | 200 | 429 | other, the errors asked for | lost | p50, ms | p99, ms |"
  echo "|---:|---:|---:|---:|---:|---:|---:|---:|"
  echo "| $duration | $(value answers "$f") | $(value ok "$f") | $(value refused "$f") | $(value other "$f") | $(value lost "$f") |" \
    "$(value p50_ms "$f") | $(value p99_ms "$f") |"
  echo
  echo "| memory, MiB | after a tenth | after half | at the end | highest |"
  echo "|---|---:|---:|---:|---:|"
  awk -F , -v d="$duration" 'NR > 1 {
      for (i = 2; i <= 3; i++) {
        if (!tenth[i] && $1 >= d / 10) tenth[i] = $i
        if (!half[i] && $1 >= d / 2) half[i] = $i
        if ($i > most[i]) most[i] = $i
        last[i] = $i
      }
    }
    END {
      for (i = 2; i <= 3; i++)
        printf "| %s | %.1f | %.1f | %.1f | %.1f |\n", i == 2 ? "resident, files included" : "its own (anonymous)", tenth[i] / 1024,
               half[i] / 1024, last[i] / 1024, most[i] / 1024
    }' "$work/hour.csv"
  return "$status"
}

case $what in
one | many | peer | overload | search | hour) "measure_$what" ;;
all) for what in one many peer overload search; do "measure_$what"; echo; done ;;
*) echo "unknown: $what" >&2; exit 2 ;;
esac
