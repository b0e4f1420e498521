#!/usr/bin/env bash
# Training by several processes: its speed beside one process of as many threads, the bytes it exchanges, and a model of
# its speed, fitted at one and two ranks and proved at four.
#
#   bench/scale.sh PROGRAM DATA TEACHER WORK [PART...]      parts: speed bandwidth; none: both
#
#   DATA      holds parallel/en-de/train-*.tsv.gz        TEACHER   a model of MiniLM's size
#   WORK      keeps the student, the teacher's vectors and the logs
#   STEPS     40: of a run; the first five do not count        ROUNDS   3: runs of each kind, in turn; their median counts
#   LIMITS    "2000 1000 500": megabits a second of the loopback, in a network namespace of its own (root, iproute2)
#
# speed      2 ranks of 1 thread, and 1 process of 2 threads: milliseconds of a step, and their ratio
# bandwidth  a step of P + R seconds in one process of one thread: P of it is divided among ranks, R each does in full;
#            n ranks on c cores need P / min(n, c) + R max(1, n / c). Over a network they exchange V bytes a step (the run
#            says how many), of which what backward runs beside is hidden:
#                T(n) = P / min(n, c) + R max(1, n / c) + max(0, k V(n) / limit - h)
#            P, R from 1 and 2 ranks by shared memory, k and h from 2 ranks at the limits; then 4 ranks are predicted.
set -euo pipefail
shopt -s inherit_errexit
[ $# -ge 4 ] || { sed -n '2,20s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(realpath "$1") data=$2 teacher=$3 work=$4
shift 4
parts=${*:-speed bandwidth}
. "$(dirname "$0")/tables/markdown.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_hwloc_base_binding_policy=none
mkdir -p "$work"
space=calque-scale

if [ ! -d "$work/student" ]; then
  gzip -dc "$data"/parallel/en-de/train-*.tsv.gz | awk 'NR <= 40000' >"$work/de.tsv"
  "$program" model new --from "$teacher" --vocab-size 32000 --text de="$work/de.tsv" "$work/student" >&2
fi

# run NAME RANKS THREADS WRAPPER...: the median of a step's milliseconds goes to standard output.
run() {
  local name=$1 ranks=$2 threads=$3
  shift 3
  local command=("$program" distill --teacher "$teacher" --student "$work/student" --train de="$work/de.tsv" --steps "${STEPS:-40}"
    --checkpoint-every 0 --cache "$work/cache" --threads "$threads" --replace --output "$work/model")
  [ "$ranks" -eq 1 ] || command=(mpirun -n "$ranks" "${command[@]}")
  rm -rf "$work/model.work"
  "$@" "${command[@]}" >"$work/$name.out" 2>&1 </dev/null || { tail -n 20 "$work/$name.out" >&2; exit 1; }
  sed -n 's/.*"type":"step","step":\([0-9]*\),.*"seconds":\([0-9.e-]*\)}.*/\1 \2/p' "$work/model/log.jsonl" |
    awk '$1 > 5 { print 1000 * $2 }' | sort -n | awk '{ x[NR] = $1 } END { printf "%.1f\n", x[int((NR + 1) / 2)] }'
}

# median NAME RANKS THREADS WRAPPER...: of what rounds() has run.
median() { sort -n "$work/$1.ms" | awk '{ x[NR] = $1 } END { printf "%.1f", x[int((NR + 1) / 2)] }'; }

# The megabytes that rank 0 has sent a step, and the gradients' size.
exchanged() { sed -n 's/.*has sent \([0-9.]*\) MB.*are \([0-9.]*\) MB.*/\1 \2/p' "$work/$1.out"; }

speed() {
  rm -f "$work"/{threads,ranks}.ms
  for _ in $(seq "${ROUNDS:-3}"); do
    run threads 1 2 >>"$work/threads.ms"
    run ranks 2 1 >>"$work/ranks.ms"
  done
  local alone ranks
  alone=$(median threads) ranks=$(median ranks)
  heading "distillation, batches of 64 pairs" "ms a step"
  row "1 process, 2 threads" "$alone"
  row "2 ranks, 1 thread each" "$ranks"
  echo
  awk -v a="$alone" -v r="$ranks" 'BEGIN { printf "speed of the ranks: %.3f of the threads'\''\n", a / r }'
  exchanged ranks | awk '{ printf "exchanged: %.2f MB a step each way, %.3f of %.2f MB of dense gradients and touched rows\n", $1, $1 / $2, $2 }'
}

limit_loopback() { # MEGABITS: for what runs in the namespace
  ip netns exec $space tc qdisc replace dev lo root tbf rate "$1mbit" burst 256kb latency 200ms
}
in_space() { ip netns exec $space env OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo "$@"; }

bandwidth() {
  local limits=${LIMITS:-2000 1000 500} limit n
  ip netns add $space
  trap 'ip netns delete $space' EXIT
  ip netns exec $space ip link set lo up
  rm -f "$work"/*.ms
  for _ in $(seq "${ROUNDS:-3}"); do
    run of-1 1 1 >>"$work/of-1.ms"
    run of-2 2 1 >>"$work/of-2.ms"
    for limit in $limits; do
      limit_loopback "$limit"
      for n in 2 4; do run "of-$n-$limit" $n 1 in_space >>"$work/of-$n-$limit.ms"; done
    done
  done
  heading "ranks" "Mbit/s" "measured, ms a step" "model" "difference, %"
  {
    echo "one $(median of-1)"
    echo "two $(median of-2)"
    echo "bytes $(exchanged of-2)"
    for limit in $limits; do for n in 2 4; do echo "at $n $limit $(median "of-$n-$limit")"; done; done
  } | awk -v cores="$(nproc)" '
    function min(a, b) { return a < b ? a : b }
    function max(a, b) { return a > b ? a : b }
    function compute(n) { return P / min(n, cores) + R * max(1, n / cores) }
    $1 == "one" { one = $2 } $1 == "two" { two = $2 } $1 == "bytes" { mb = 2 * $2 } # there and back, of two ranks
    $1 == "at" { n_at++; ranks[n_at] = $2; limit[n_at] = $3; ms[n_at] = $4 }
    END {
      P = 2 * (one - two); R = one - P
      for (i = 1; i <= n_at; i++) if (ranks[i] == 2) { # ms of the wire alone, and what is seen of it
        x = 8000 * mb / limit[i]; y = ms[i] - two
        n++; sx += x; sy += y; sxx += x * x; sxy += x * y
      }
      k = (n * sxy - sx * sy) / (n * sxx - sx * sx); h = (k * sx - sy) / n
      for (i = 1; i <= n_at; i++) {
        v = ranks[i] - 1 # a tree of n ranks has n - 1 edges, which here share one wire
        t = compute(ranks[i]) + max(0, k * v * 8000 * mb / limit[i] - h)
        printf "| %d | %d | %.1f | %.1f | %+.1f |\n", ranks[i], limit[i], ms[i], t, 100 * (t / ms[i] - 1)
      }
      printf "\nP = %.1f ms, R = %.1f ms, k = %.3f, h = %.1f ms; %.1f MB a step between two ranks\n", P, R, k, h, mb
    }'
}

for part in $parts; do
  case $part in
  speed | bandwidth) $part ;;
  *) echo "there is no part '$part': speed, bandwidth" >&2; exit 2 ;;
  esac
  echo
done
