#!/bin/bash
# Mining N x N vectors by 2 ranks with 1 thread each against 1 process with 2 threads, in turn, and whether the pairs
# are the same: bench/scale_mine.sh PROGRAM [N [DIM [ROUNDS]]]
# Prints tab-separated lines: the round, seconds by the clock and of all processors of each, the ratios of both; then
# the medians. Where others share the machine, only the processors' time says something: two ranks wait for the slower
# one, and what they wait counts as well. Vectors are generated: numbers of random sign and size, row i of both sides
# alike in 6 of 10 dimensions. Options of mine in MINE, for example MINE="--first-pass f32". Wants an otherwise idle
# machine of two processors.
set -eu
program=$(realpath "${1:?usage: scale_mine.sh PROGRAM [N [DIM [ROUNDS]]]}") n=${2:-20000} dim=${3:-384} rounds=${4:-3}
command -v mpirun >/dev/null || { echo "there is no mpirun (Debian: openmpi-bin)" >&2; exit 1; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
tmp=$(mktemp -d "${TMPDIR:-/tmp}/scale_mine.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
python3 - "$n" "$dim" <<'PYTHON'
import random
import sys

n, dim = int(sys.argv[1]), int(sys.argv[2])
lanes = lambda word: int.from_bytes(word.to_bytes(4, "little") * dim, "little")
sign_and_fraction, half = lanes(0x807FFFFF), lanes(0x3F000000)
rng = random.Random(1)
masks = []
for _ in range(64):
    kept = b"".join((b"\xff" if rng.random() < 0.6 else b"\0") * 4 for _ in range(dim))
    masks.append(int.from_bytes(kept, "little"))
row = lambda: rng.getrandbits(32 * dim) & sign_and_fraction | half
with open("x.f32", "wb") as x, open("y.f32", "wb") as y:
    for i in range(n):
        a, b, mask = row(), row(), masks[i % 64]
        x.write(a.to_bytes(4 * dim, "little"))
        y.write((a & mask | b & ~mask).to_bytes(4 * dim, "little"))
PYTHON
seconds() { # OUTPUT THREADS COMMAND...: wall, then of all processors
  local out=$1 threads=$2
  shift 2
  { time "$@" mine --replace --dim "$dim" ${MINE:-} --threads "$threads" --cache "$out.cache" -o "$out" x.f32 y.f32 2>"$out.log"; } \
    2>"$out.time" || { cat "$out.log" >&2; exit 1; }
  awk '{ printf "%.2f\t%.2f\n", $1, $2 + $3 }' "$out.time"
}
TIMEFORMAT='%R %U %S'
grep -m 1 'model name' /proc/cpuinfo | sed 's/.*: /# /'
echo "# $n x $n, dimension $dim${MINE:+, $MINE}"
printf 'round\tone_process_s\tits_cpu_s\ttwo_ranks_s\ttheir_cpu_s\tspeed_ratio\tcpu_ratio\n'
for ((i = 1; i <= rounds; i++)); do # who is first changes: the machine may grow warm
  ((i % 2)) && one=$(seconds one.tsv 2 "$program")
  two=$(seconds two.tsv 1 mpirun -n 2 --bind-to none "$program")
  ((i % 2)) || one=$(seconds one.tsv 2 "$program")
  cmp one.tsv two.tsv || { echo "the pairs differ" >&2; exit 1; }
  awk -v i="$i" -v one="$one" -v two="$two" 'BEGIN {
    split(one, a, "\t"); split(two, b, "\t")
    printf "%d\t%s\t%s\t%.3f\t%.3f\n", i, one, two, a[1] / b[1], a[2] / b[2]
  }'
done | tee ratios
median() { cut -f"$1" ratios | sort -n | sed -n "$(((rounds + 1) / 2))p"; }
echo "median ratios: speed $(median 6), processor time $(median 7); $(wc -l <one.tsv) pairs, the same bytes"
