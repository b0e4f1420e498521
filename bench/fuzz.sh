#!/bin/bash
# Fuzzes all targets of fuzz/ under Clang's address and undefined-behavior sanitizers; continues where it was stopped.
#   bench/fuzz.sh DIR [--executions N] [--time SECONDS] [--slice SECONDS] [--rounds N] [--seed N] [--build DIR]
#     [--only "TARGET..."]
# DIR keeps the corpora, executions and findings of all runs so far; the first run makes it. Ends when the targets have
# N executions in all (100,000,000), counting earlier runs, after SECONDS or after N rounds. Each target runs for --slice
# seconds (60) in turn, so that they share the time; targets that fuzz/ gets later join. --seed makes the same inputs
# again from the same corpus, up to the slice's end. --build names a build directory of the preset `fuzz` or `clang`
# that is up to date; without it the preset `fuzz` is built in DIR/build.
# Stops at the first finding with exit status 1: DIR/findings/ has the input, DIR/log/TARGET what was said. Mended, the
# input goes to fuzz/corpus/TARGET, where the tests replay it.
# An execution is what libFuzzer calls one: it includes the reading of the corpus at the beginning of each slice.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
usage() { sed -n '3,4s/^# *//p' "$0" >&2; exit 2; }
[ $# -gt 0 ] && [ "${1#--}" = "$1" ] || usage
mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift
goal=100000000 time=0 slice=60 rounds=0 seed=0 build= only=
while [ $# -gt 0 ]; do
  [ $# -gt 1 ] || usage
  case $1 in
  --executions) goal=$2 ;;
  --time) time=$2 ;;
  --slice) slice=$2 ;;
  --rounds) rounds=$2 ;;
  --seed) seed=$2 ;;
  --build) build=$2 ;;
  --only) only=$2 ;;
  *) usage ;;
  esac
  shift 2
done

# The longest input where 1,024 bytes, the default, are too few for what the target reads, or more than it needs.
declare -A max_len=([checkpoint]=2048 [lexical]=4096 [torch_zip]=4096 [tokenizer]=2048 [model]=4096)

if [ -z "$build" ]; then
  build=$dir/build
  mkdir -p "$build"
  (cd "$here" && cmake --preset fuzz -B "$build" && cmake --build "$build" --target fuzzers) >"$dir/build.log" 2>&1 ||
    { tail -n 40 "$dir/build.log" >&2; exit 1; }
fi
targets=()
for source in "$here"/fuzz/fuzz_*.c; do
  target=$(basename "$source" .c)
  target=${target#fuzz_}
  [ -z "$only" ] || [[ " $only " == *" $target "* ]] || continue
  targets+=("$target")
  mkdir -p "$dir/corpus/$target"
done
mkdir -p "$dir"/{executions,seconds,findings,log}
TMPDIR=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)/calque-fuzz.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# Freed memory is kept from use for a shorter while, and without its stacks: an execution takes half of the time.
ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64
export ASAN_OPTIONS=$ASAN_OPTIONS:allocator_release_to_os_interval_ms=-1:max_malloc_fill_size=16
export UBSAN_OPTIONS=print_stacktrace=1

kept() { cat "$dir/$1/$2" 2>/dev/null || echo 0; } # COUNT TARGET
total() {
  local sum=0 target
  for target in "${targets[@]}"; do sum=$((sum + $(kept executions "$target"))); done
  echo $sum
}

print_table() {
  local target executions seconds sum=0 sum_seconds=0
  printf '%-14s %14s %10s %10s %8s\n' target executions seconds per_second corpus
  for target in "${targets[@]}"; do
    executions=$(kept executions "$target")
    seconds=$(kept seconds "$target")
    sum=$((sum + executions)) sum_seconds=$((sum_seconds + seconds))
    printf '%-14s %14d %10d %10d %8d\n' "$target" "$executions" "$seconds" \
      $((executions / (seconds > 0 ? seconds : 1))) "$(find "$dir/corpus/$target" -type f | wc -l)"
  done
  printf '%-14s %14d %10d %10d\n' all $sum $sum_seconds $((sum / (sum_seconds > 0 ? sum_seconds : 1)))
}

fuzz_target() { # TARGET SECONDS
  local target=$1 log=$dir/log/$1 executions status=0 begin=$SECONDS
  # The first directory is the one that libFuzzer writes to.
  "$build/fuzz/fuzz_$target" "$dir/corpus/$target" "$here/fuzz/corpus/$target" -max_total_time="$2" \
    -max_len="${max_len[$target]:-1024}" -timeout=20 -rss_limit_mb=3000 -artifact_prefix="$dir/findings/$target-" \
    -print_final_stats=1 -reload=0 -seed="$seed" >"$log" 2>&1 || status=$?
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  echo $(($(kept executions "$target") + ${executions:-0})) >"$dir/executions/$target"
  echo $(($(kept seconds "$target") + SECONDS - begin)) >"$dir/seconds/$target"
  [ $status -eq 0 ] && return
  tail -n 60 "$log"
  echo "fuzz_$target ended with status $status; what it was given is in $dir/findings/"
  return 1
}

result=0
for ((round = 1; rounds == 0 || round <= rounds; round++)); do
  for target in "${targets[@]}"; do
    [ "$(total)" -lt "$goal" ] || break 2
    left=$slice
    if [ "$time" -gt 0 ]; then
      [ $SECONDS -lt "$time" ] || break 2
      [ $((time - SECONDS)) -ge "$left" ] || left=$((time - SECONDS))
    fi
    fuzz_target "$target" "$left" || { result=1; break 2; }
  done
done
print_table
exit $result
