# Bad input: each is exit 1, a message that names file and place, and nothing left behind.
. "$(dirname "$0")/common.sh"

model="--model $TEACHER"
encode="encode $model --output out.npy"
printf 'one\tuno\ntwo\tdos\nthree\nfour\tcuatro\n' >column.tsv
printf 'fine\nbad \xff byte\nfine\n' >utf8.txt
: >empty.txt
yes 'A sentence that is here to be compressed.' | head -n 20000 | gzip -c >whole.gz
head -c 60 whole.gz >cut.gz
{ head -c 40 whole.gz; printf 'xxxxxxxxxxxxxxxxxxxx'; tail -c +61 whole.gz; } >broken.gz

check() {
  stdout_is_empty
  absent out.npy
  absent out
}

# Archives are named, as is bzip2 where its plugin is missing; text that only begins like one is text.
printf 'BZh91AY&SY\x01\x02' >text.bz2
printf 'PK\x03\x04\x14\x00' >text.zip
expect 1 $encode text.zip
stderr_has "text.zip: is compressed with zip; calque reads gzip, bzip2, xz, Zstandard and plain text: decompress it first"
check
expect 1 $encode text.bz2
grep -q 'text.bz2: \(byte .*: broken bzip2 stream: ends too early\|bzip2 needs calque.s plugin for it\)' stderr || fail "bzip2 is not named"
check
printf 'BZh9 is a plate\n' >plate.txt
expect 0 $encode plate.txt
rm out.npy

# Text.
expect 1 $encode nowhere.txt
stderr_has "nowhere.txt: "
check
expect 1 $encode .
check
expect 1 $encode --tsv 2 column.tsv
stderr_has "column.tsv:3: expected a column 2, the line has 1"
check
expect 0 $encode --tsv 2 --skip-bad column.tsv
stderr_has "1 malformed line"
rm out.npy
expect 1 $encode utf8.txt
stderr_has "utf8.txt:2:"
check
expect 0 $encode --skip-bad utf8.txt
stderr_has "1 malformed line"
rm out.npy
expect 1 $encode empty.txt
stderr_has "empty.txt: "
check
expect 1 $encode cut.gz
stderr_has "cut.gz:"
check
expect 1 $encode broken.gz
stderr_has "broken.gz:"
check
expect 1 encode $model --output no/such/directory/out.npy column.tsv
stderr_has "no/such/directory/out.npy"
stdout_is_empty

# More columns than a line of translations may have.
{ printf 'one two\tuno dos\n'; seq -s "$(printf '\t')" 70; } >wide.tsv
expect 1 model new --kind static --text wide.tsv --vocab-size 40 --dim 8 out
stderr_has "wide.tsv:2: 70 columns, expected at most 64"
check
{ cat wide.tsv; printf 'bad \xff byte\ttwo\n'; pairs 60; } >mixed.tsv
expect 1 model new --kind static --text mixed.tsv --vocab-size 60 --dim 8 out
expect 0 model new --kind static --text mixed.tsv --vocab-size 60 --dim 8 --skip-bad out
stderr_has "2 malformed lines were skipped"
rm -r out

# A SIMD level that is none.
CALQUE_SIMD=avx3 expect 2 encode $model column.tsv
stderr_has "CALQUE_SIMD is 'avx3'"
check

# A disk that is full, and standard output that is.
"$PROGRAM" encode $model column.tsv >/dev/full 2>stderr
[ $? -eq 1 ] || fail "a full standard output is no failure"
stderr_has "No space left on device"
ln -s /dev/full full.bin
yes 'A sentence.' | head -n 200 >many.txt
expect 1 encode $model --output full.bin many.txt
stderr_has "full.bin: "
for output in out.npy out.bin out.jsonl; do
  last="encode --output $output with ulimit -f 8"
  (ulimit -f 8 && exec "$PROGRAM" encode $model --output $output many.txt >stdout 2>stderr)
  [ $? -eq 1 ] || fail "a file over the limit is no failure"
  stderr_has "$output: "
  absent $output
done

# Measures.
for measure in translation sts; do
  expect 1 eval $measure $model nowhere.tsv
  stderr_has "nowhere.tsv: "
  expect 1 eval $measure $model column.tsv
  stderr_has "column.tsv:"
  expect 1 eval $measure $model empty.txt
  stderr_has "empty.txt"
  stdout_is_empty
done
expect 1 eval mse $model --teacher "$TEACHER" column.tsv
stderr_has "column.tsv:3:"
expect 0 eval translation $model --skip-bad column.tsv
stderr_has "1 malformed line"
printf 'a\tb\t1.5\nc\td\tmany\n' >gold.tsv
expect 1 eval sts $model gold.tsv
stderr_has "gold.tsv:2:"

# Model directories.
expect 1 model info nowhere-at-all
stderr_has "nowhere-at-all"
stdout_is_empty
weights=$(cd "$TEACHER" && find . -name model.safetensors | head -n 1)
# A copy of the teacher to damage; -L, so that no link leads back to the original.
broken() {
  rm -rf model
  cp -rL "$TEACHER" model
  chmod -R u+w model
}
broken
head -c 100 "$TEACHER/$weights" >"model/$weights"
expect 1 model info model
stderr_has "model.safetensors: "
broken
head -c -64 "$TEACHER/$weights" >"model/$weights"
expect 1 encode --model model --output out.npy column.tsv
stderr_has "model.safetensors: "
check
broken
: >"model/$weights"
expect 1 model info model
stderr_has "model.safetensors"
broken
find model -name 'tokenizer.json' -delete -o -name vocab.txt -delete -o -name '*.model' -delete
expect 1 model info model
stderr_has "model"
stderr_has "tokenizer"
broken
echo '{"broken' >model/modules.json
expect 1 model info model
stderr_has "modules.json"
broken
sed 's/Pooling"/Pondering"/' "$TEACHER/modules.json" >model/modules.json
expect 1 model info model
stderr_has "Pondering"

# An output directory that exists.
mkdir out
expect 1 model new --kind copy --from "$TEACHER" out
stderr_has "out"
stderr_has "exists"
[ -z "$(ls -A out)" ] || fail "the existing directory was touched"
rmdir out
finish
