# --precision and CALQUE_PRECISION: how near the vectors are to those in f32, what they depend on, and what is refused.
. "$(dirname "$0")/common.sh"

TEACHER=$SOURCE/sample/teacher
gzip -dc "$SOURCE/sample/test/en-de.tsv.gz" | cut -f 1 | head -n 200 >en.txt
dim=128
# in_use PRECISION: what the processor computes in when asked for it
in_use() { CALQUE_PRECISION=$1 "$PROGRAM" model info --json "$TEACHER" 2>/dev/null | sed -n 's/.*"precision": "\(.*\)".*/\1/p'; }
int8=$(in_use int8)

# near A B LEAST: the least cosine of two .bin files of vectors of dim numbers, which are of length 1
near() {
  paste <(od -An -v -w4 -tf4 "$1") <(od -An -v -w4 -tf4 "$2") |
    awk -v least="$3" -v dim="$dim" '{ s += $1 * $2; a += $1 * $1; b += $2 * $2 }
      NR % dim == 0 { c = s / sqrt(a * b); if (NR == dim || c < min) min = c; s = a = b = 0 }
      END { if (NR < dim || !(min >= least)) { print "the least cosine is " min; exit 1 } }' || fail "$2 is far from $1"
}

expect 0 encode --model "$TEACHER" --precision f32 --output f32.bin en.txt
expect 0 encode --model "$TEACHER" --output plain.bin en.txt
same f32.bin plain.bin
for precision in bf16 int8; do
  expect 0 encode --model "$TEACHER" --precision $precision --output $precision.bin en.txt
  [ "$(in_use $precision)" = $precision ] || stderr_has "no products in $precision"
  case $precision in bf16) least=0.9995 ;; int8) least=0.98 ;; esac
  near f32.bin $precision.bin $least
  # on neither threads nor neighbors
  expect 0 encode --model "$TEACHER" --precision $precision --threads 2 --batch 7 --replace --output other.bin en.txt
  same $precision.bin other.bin
  expect 0 encode --model "$TEACHER" --precision $precision --replace --output one.bin <(sed -n 50p en.txt)
  cmp -s one.bin <(tail -c +$((49 * 4 * dim + 1)) $precision.bin | head -c $((4 * dim))) ||
    fail "a sentence alone has another vector in $precision"
  # from the environment, which an option overrules
  last="CALQUE_PRECISION=$precision calque encode"
  CALQUE_PRECISION=$precision "$PROGRAM" encode --model "$TEACHER" --replace --output other.bin en.txt || fail "exit code $?"
  same $precision.bin other.bin
  CALQUE_PRECISION=$precision "$PROGRAM" encode --model "$TEACHER" --precision f32 --replace --output other.bin en.txt
  same f32.bin other.bin
  # a model of this precision says so, unless the processor lacks it
  last="CALQUE_PRECISION=$precision calque model info --json"
  CALQUE_PRECISION=$precision "$PROGRAM" model info --json "$TEACHER" >stdout 2>stderr
  [ -s stderr ] || stdout_has "\"precision\": \"$precision\""
done

# A level without a precision takes the next wider, and says so.
last="CALQUE_SIMD=portable calque encode"
CALQUE_SIMD=portable "$PROGRAM" encode --model "$TEACHER" --output portable.bin en.txt
CALQUE_SIMD=portable "$PROGRAM" encode --model "$TEACHER" --precision int8 --replace --output other.bin en.txt 2>stderr
stderr_has "no products in int8 at this processor's level, portable: f32 is used"
same portable.bin other.bin

# Unknown names
expect 2 encode --model "$TEACHER" --precision f16 en.txt
stderr_has "--precision is 'f16'"
last="CALQUE_PRECISION=int4 calque encode"
CALQUE_PRECISION=int4 "$PROGRAM" encode --model "$TEACHER" en.txt >stdout 2>stderr
[ $? -eq 1 ] || fail "exit code"
stdout_is_empty
stderr_has "CALQUE_PRECISION is 'int4', expected f32, bf16 or int8"

# Vectors of different precisions are kept apart.
cut -c 1- en.txt >a.txt
for precision in f32 bf16 int8; do
  expect 0 mine --model "$TEACHER" --precision $precision --cache cache a.txt en.txt
  lines_are stdout 200
  expect 0 cluster --model "$TEACHER" --precision $precision --cache cache --min-size 2 en.txt
done
n=$(for p in f32 bf16 int8; do in_use $p; done | sort -u | wc -l)
[ "$(ls cache/vectors | wc -l)" -eq "$n" ] || fail "the cache has $(ls cache/vectors)"

# An index, and a run of retrieval: each sentence finds itself, whatever the two sides were made in.
awk '{ print "e" NR "\t" $0 }' en.txt >en.ids
expect 0 index new --model "$TEACHER" news
expect 0 index add news --ids --precision int8 en.ids
for precision in f32 bf16 int8; do
  expect 0 search news "$(sed -n 7p en.txt)" --top 1 --precision $precision
  stdout_has "$(printf '\te7\t')"
done
expect 0 clir dense --model "$TEACHER" --precision int8 en.ids en.ids --top 1
[ "$(awk '$1 == $3' stdout | wc -l)" -ge 195 ] || fail "sentences do not find themselves"

# Smaller directories: what they lose is told and may be too much, and they are models like any other.
paste en.txt en.txt >pairs.tsv
for precision in bf16 f16 int8; do
  expect 0 model quantize "$TEACHER" --precision $precision --text en.txt --translation pairs.tsv -o small-$precision
  stdout_has "measure         before     after      loss  file"
  stdout_has "cosine         100.000"
  stdout_has "translation    100.000   100.000"
  stderr_has "wrote small-$precision"
  case $precision in int8) least=0.98 ;; *) least=0.9999 ;; esac
  expect 0 encode --model small-$precision --precision f32 --replace --output small.bin en.txt
  near f32.bin small.bin $least
done
expect 1 model quantize "$TEACHER" -o small-int8
stderr_has "small-int8: already exists"
expect 0 model quantize "$TEACHER" --replace -o small-int8
expect 0 model info small-int8 --json
stdout_has "\"precision\": \"$int8\""
expect 1 model quantize "$TEACHER" --text en.txt --max-loss 0.0001 -o none
stderr_has "points are lost, more than 0.0001: nothing is written"
[ ! -e none ] || fail "a model that loses too much was written"
expect 2 model quantize "$TEACHER" --max-loss 1 -o none
stderr_has "max-loss needs something to measure"
expect 2 model quantize "$TEACHER" --precision int3 -o none
stderr_has "one of bf16, f16, int8, int4"
expect 2 model quantize "$TEACHER"
echo '{"version": 7}' >small-int8/quantization.json
expect 1 encode --model small-int8 en.txt
stderr_has "version 7 of quantized weights, expected 1"

# A run goes on only with its teacher's precision.
if [ "$int8" != f32 ]; then
  paste en.txt en.txt >pairs.tsv
  run="distill --teacher $TEACHER --student $TEACHER --train pairs.tsv --cache cache --output run --batch 4 --steps"
  CALQUE_PRECISION=int8 "$PROGRAM" $run 1000000 >log 2>&1 &
  pid=$!
  for ((i = 0; i < 600; i++)); do grep -q '"train"\|"step"' run.work/log.jsonl 2>/dev/null && break; sleep 0.1; done
  kill "$pid"
  wait "$pid"
  expect 1 $run 1000000 --resume
  stderr_has "teacher's precision"
fi

# Training in bf16: the same bits for any number of threads, a model near that of f32, a run of its own.
paste en.txt en.txt >pairs.tsv
run="distill --teacher $TEACHER --student $TEACHER --train pairs.tsv --cache cache --batch 8 --lr 1e-4 --steps"
expect 0 $run 12 --precision bf16 --threads 2 --output two
expect 0 $run 12 --precision bf16 --threads 1 --output one
same one/model.safetensors two/model.safetensors
expect 0 $run 12 --output full
expect 0 encode --model full --output full.bin en.txt
expect 0 encode --model one --replace --output one.bin en.txt
near full.bin one.bin 0.98 # a student that is its teacher has next to no gradients: Adam enlarges their noise
expect 0 model info one --json
stdout_has '"precision": "f32"'
"$PROGRAM" $run 1000000 --precision bf16 --output other >log 2>&1 &
pid=$!
for ((i = 0; i < 600; i++)); do grep -q '"train"\|"step"' other.work/log.jsonl 2>/dev/null && break; sleep 0.1; done
kill "$pid"
wait "$pid"
expect 1 $run 1000000 --output other --resume
stderr_has "precision bf16, not f32"
finish
