# calque encode and similarity: formats, precisions, and vectors that do not depend on how they
# were computed.
. "$(dirname "$0")/common.sh"

pairs 40 >pairs.tsv
cut -f 1 pairs.tsv >en.txt
cut -f 2 pairs.tsv >de.txt
model="--model $TEACHER"

# Formats say the same.
expect 0 encode $model en.txt
cp stdout lines.jsonl
lines_are lines.jsonl 40
head -n 1 lines.jsonl | grep -q '^{"text": ".*", "embedding": \[.*\]}$' || fail "not a line of JSON as documented"
expect 0 encode $model --output out.jsonl en.txt
stdout_is_empty

# As a co-process: each line has its vector before the next is written.
coproc ENCODED { exec "$PROGRAM" encode $model - 2>encoded.err; }
process=$ENCODED_PID
for line in 1 2 3; do
  sed -n "${line}p" en.txt >&"${ENCODED[1]}"
  read -r -t 60 answer <&"${ENCODED[0]}" || fail "no answer to line $line: $(cat encoded.err)"
  [ "$answer" = "$(sed -n "${line}p" lines.jsonl)" ] || fail "another answer to line $line"
done
eval "exec ${ENCODED[1]}>&-"
wait "$process" || fail "the co-process ended with $?"
same out.jsonl lines.jsonl

# What is there is not overwritten unless it is said.
head -n 1 en.txt >first.txt
expect 1 encode $model --output out.jsonl first.txt
stderr_has "out.jsonl: already exists (--replace overwrites it)"
same out.jsonl lines.jsonl
expect 0 encode $model --output one.jsonl first.txt
expect 0 encode $model --output out.jsonl --replace first.txt
same out.jsonl one.jsonl
expect 0 encode $model --output out.npy en.txt
expect 0 encode $model --output out.bin en.txt
tail -c "$(wc -c <out.bin)" out.npy >tail.bin
same out.bin tail.bin
dim=$(($(wc -c <out.bin) / 160))
head -c 6 out.npy | od -An -tx1 | grep -q '93 4e 55 4d 50 59' || fail "out.npy has no magic number"
# The first number of the first line, as text and as bytes.
number=$(sed -n '1s/.*"embedding": \[\([^,]*\),.*/\1/p' lines.jsonl)
bytes=$(od -An -tf4 -N4 out.bin)
awk -v a="$number" -v b="$bytes" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }' || fail "JSON says $number, .bin $bytes"

# Input: standard input, gzip, a column of a TSV, several files.
expect_from en.txt 0 encode $model --replace --output in.bin
same in.bin out.bin
expect_from en.txt 0 encode $model --replace --output in.bin -
same in.bin out.bin
gzip -c en.txt >en.txt.gz
expect 0 encode $model --replace --output in.bin en.txt.gz
same in.bin out.bin
expect 0 encode $model --replace --output in.bin --tsv 1 pairs.tsv
same in.bin out.bin
head -n 7 en.txt >a.txt
tail -n +8 en.txt >b.txt
expect 0 encode $model --replace --output in.bin a.txt b.txt
same in.bin out.bin

# Neither threads nor batches nor order change a bit of any vector.
for arguments in "--threads 1" "--threads 2" "--threads 3" "--batch 1" "--batch 7" "--batch 1000 --threads 2"; do
  expect 0 encode $model $arguments --replace --output other.bin en.txt
  same other.bin out.bin
done
sed -n '1!G;h;$p' en.txt >reversed.txt
expect 0 encode $model --output reversed.bin reversed.txt
row=$((4 * dim))
for i in 0 1 20 39; do
  dd if=out.bin of=one bs=$row skip=$i count=1 2>/dev/null
  dd if=reversed.bin of=two bs=$row skip=$((39 - i)) count=1 2>/dev/null
  same one two
done

# Smaller vectors.
expect 0 encode $model --truncate-dim 16 --output small.bin en.txt
bytes_are small.bin $((40 * 16 * 4))
expect 0 encode $model --normalize --truncate-dim 16 --output unit.bin en.txt
od -An -v -tf4 -w64 unit.bin | awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; if (s < 0.999 || s > 1.001) bad = 1 } END { exit bad }' ||
  fail "--normalize: a vector's length is not 1"
expect 1 encode $model --truncate-dim 100000 --output big.bin en.txt
stderr_has "truncate-dim is 100000, expected 0 to the model's"
absent big.bin
expect 0 encode $model --output-type int8 --output int8.bin en.txt
bytes_are int8.bin $((40 * dim))
expect 0 encode $model --output-type int8 --calibration en.txt --replace --output other.bin en.txt
same int8.bin other.bin
expect 0 encode $model --output-type int8 --calibration out.npy --replace --output other.bin en.txt
same int8.bin other.bin
expect_from en.txt 2 encode $model --output-type int8 --output piped.bin
stderr_has "needs --calibration"
absent piped.bin
expect 0 encode $model --output-type binary --output binary.bin en.txt
bytes_are binary.bin $((40 * ((dim + 7) / 8)))
expect 0 encode $model --output-type ubinary --output ubinary.bin en.txt
first=$(od -An -td1 -N1 binary.bin)
second=$(od -An -tu1 -N1 ubinary.bin)
[ $((first + 128)) -eq $((second)) ] || fail "binary $first, ubinary $second"

# A prompt changes the vectors; what is too long is counted, or refused.
expect 0 encode $model --prompt "query: " --output prompted.bin en.txt
if cmp -s prompted.bin out.bin; then fail "--prompt changes nothing"; fi
prompts="--model $SOURCE/tests/golden/models/bert-prompt"
expect 0 encode $prompts --prompt-name passage --output named.bin en.txt
expect 0 encode $prompts --prompt "a text: " --output spelled.bin en.txt
same named.bin spelled.bin
expect 1 encode $model --prompt-name no-such-prompt --output prompted2.bin en.txt
stderr_has "no-such-prompt"
absent prompted2.bin
expect 0 encode $model --max-length 4 --output cut.bin en.txt
stderr_has "were longer than 4 tokens and were truncated (the first: en.txt:1)"
expect 1 encode $model --max-length 4 --strict --output strict.bin en.txt
stderr_has "en.txt:1:"
absent strict.bin

# similarity
expect 0 similarity $model "A dog barks." "A dog barks."
[ "$(cat stdout)" = 1.0000 ] || fail "a sentence and itself: $(cat stdout)"
expect 0 similarity $model --tsv pairs.tsv
lines_are stdout 40
cut -f 2,3 stdout >back.tsv
same back.tsv pairs.tsv
expect 0 similarity $model --tsv pairs.tsv --columns 1,1 --batch 3
[ "$(cut -f 1 stdout | sort -u)" = 1.0000 ] || fail "a column and itself differ"
expect 0 similarity $model --json "a \"quoted\" word" b
stdout_has '"a": "a \"quoted\" word"'
# Decomposed text: one warning, or the vectors of composed text.
for i in 1 2 3; do decomposed_korean; done >nfd.txt
for i in 1 2 3; do composed_korean; done >nfc.txt
expect 0 encode --model "$AS_IT_IS" --batch 1 --output nfd.bin nfd.txt
warned 1
expect 0 encode --model "$AS_IT_IS" --output nfc.bin nfc.txt
warned 0
expect 0 encode --model "$AS_IT_IS" --compose --replace --output nfd.bin nfd.txt
warned 0
same nfd.bin nfc.bin
expect 0 encode --model "$SOURCE/tests/golden/models/qwen2-last" --replace --output nfd.bin nfd.txt
warned 0
expect 0 similarity --model "$AS_IT_IS" --compose "$(composed_korean)" "$(decomposed_korean)"
stdout_has 1.0000
expect 0 cluster --model "$AS_IT_IS" --cache cache --min-size 1 nfd.txt
warned 1
expect 0 cluster --model "$AS_IT_IS" --cache cache --compose --min-size 1 nfd.txt
warned 0
finish
