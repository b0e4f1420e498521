# calque mine: texts and vectors, ids and lines, what is printed and what is refused.
. "$(dirname "$0")/common.sh"

TEACHER=$SOURCE/sample/teacher # small, and it knows English
mine="mine --model $TEACHER --cache cache"

# The sample's English, and the same sentences shuffled among others: each finds itself.
gzip -dc "$SOURCE/sample/test/en-de.tsv.gz" | cut -f 1 | awk '!seen[$0]++' | head -n 60 >all.txt
head -n 40 all.txt >source.txt
{ sed -n '21,60p' all.txt; printf '\n'; sed -n '21p' all.txt; } >target.txt
awk '{ printf "s-%02d\t%s\n", NR, $0 }' source.txt >source.ids
awk 'NF { printf "t-%02d\t%s\n", NR, $0 }' target.txt | gzip -c >target.ids.gz

expect 0 $mine source.txt target.txt --threshold 0.5
stderr_has "target.txt: 1 blank and 0 malformed lines were left out"
[ "$(cut -f 2 stdout | sort)" = "$(sed -n '21,40p' all.txt | sort)" ] || [ "$(wc -l <stdout)" -ge 20 ] || fail "pairs are missing"
[ "$(awk -F '\t' '$2 == $3' stdout | wc -l)" -eq 20 ] || fail "not every sentence found itself"
[ "$(head -n 20 stdout | awk -F '\t' '$2 == $3' | wc -l)" -ge 18 ] || fail "copies do not come first"
sort -g -r -c stdout || fail "the pairs are not in order"

# Ids: a sentence that stands twice is printed with both its lines.
expect 0 $mine source.ids target.ids.gz
[ "$(awk -F '\t' '$2 == "s-21"' stdout | wc -l)" -eq 2 ] || fail "s-21 should have two targets"
grep -q "	s-21	t-01$" stdout && grep -q "	s-21	t-42$" stdout || fail "s-21 should have t-01 and t-42"
expect 0 $mine source.ids target.ids.gz --text
[ "$(head -n 1 stdout | awk -F '\t' '{ print NF }')" -eq 6 ] || fail "--text should give six columns"

# Both thresholds together are what the columns say.
cp stdout with-cosines
expect 0 $mine source.ids target.ids.gz --text --threshold 1.06 --min-cosine 0.8
awk -F '\t' '$1 >= 1.06 && $4 >= 0.8' with-cosines >both
same stdout both
awk -F '\t' '$1 >= 1.06 && $4 < 0.8 { low++ } END { exit !low }' with-cosines || fail "no pair is left out for its cosine alone"
expect 2 $mine source.ids target.ids.gz --min-cosine 1.5
stderr_has "min-cosine"

# k is not below the number of sentences: one note, and scores stay in bounds.
head -n 3 source.txt >three.txt
for k in 3 4 100; do
  expect 0 $mine three.txt target.txt -k $k
  stderr_has "k is $k, of 3 sentences to compare with: the margin is taken over all 3"
done
expect 0 $mine three.txt target.txt -k 2
! grep -q "the margin is taken" stderr || fail "a note without need"
expect 0 $mine three.txt -k 2
stderr_has "k is 2, of 2 sentences to compare with"
expect 0 $mine three.txt three.txt --margin absolute
! grep -q "the margin is taken" stderr || fail "a note for plain cosines"
printf '1 0.01\n-1 0.01\n0 1\n' | python3 -c 'import struct, sys
for n in sys.stdin.read().split(): sys.stdout.buffer.write(struct.pack("f", float(n)))' >opposite.f32
expect 0 mine opposite.f32 opposite.f32 --dim 2 --retrieval forward
awk -F '\t' '!($1 > 0 && $1 <= 20 && $2 == $3) { bad++ } END { exit !(NR == 3 && !bad) }' stdout || fail "margins of opposite vectors: $(cat stdout)"

# The threshold from labels; and filters.
awk 'BEGIN { for (i = 21; i <= 40; i++) printf "s-%02d\tt-%02d\n", i, i - 20 }' >gold
expect 0 $mine source.ids target.ids.gz --threshold-from gold
stderr_has "recall 100.00"
expect 0 $mine source.ids target.ids.gz --drop copies
stderr_has "20 of "
awk -F '\t' '$2 == "s-21"' stdout | grep -q "t-01" && fail "copies were not dropped"

# A classifier of pairs: every third German sentence has lost its English one, so pairs of it are wrong.
gzip -dc "$SOURCE/sample/train/en-de.tsv.gz" | awk -F '\t' 'NR <= 400' >learned.tsv
awk -F '\t' 'NR % 3 { print "e-" NR "\t" $1 } NR % 4 { print "d-" NR "\t" $2 >"learned.de" }' learned.tsv >learned.en
awk -F '\t' 'NR % 3 && NR % 4 { print "d-" NR "\te-" NR }' learned.tsv >learned.gold
expect 0 model new --from "$TEACHER" --vocab-size 1500 --text learned.tsv student
learn="mine --model student --cache cache learned.de learned.en"
expect 0 $learn -o by-margin --text
expect 0 $learn --learn-from learned.gold --save-classifier classifier.json -o by-classifier --text
stderr_has "trained on "
awk -F '\t' '$1 < 0 || $1 > 1 { bad++ } END { exit !(NR > 100 && !bad) }' by-classifier || fail "scores are no probabilities"
sort -g -r -c by-classifier || fail "classified pairs are not in order"
[ "$(cut -f 2- by-classifier | sort)" = "$(cut -f 2- by-margin | sort)" ] || fail "a classifier changes the order of pairs only"
f1() { # PAIRS: the best F1
  "$PROGRAM" eval bucc --quiet --csv learned.gold "$1" | awk -F , 'NR == 2 { print $8 }'
}
awk -v a="$(f1 by-margin)" -v b="$(f1 by-classifier)" 'BEGIN { exit !(b > a + 0.01) }' ||
  fail "F1 by margin $(f1 by-margin), by a classifier $(f1 by-classifier)"
expect 0 $learn --classifier classifier.json --threads 3 --text
same stdout by-classifier
expect 0 $learn --classifier classifier.json --text --threshold 0.5
awk -F '\t' '$1 >= 0.5' by-classifier >half
same stdout half
expect 0 $learn --classifier classifier.json --text --min-precision 0.9
awk -F '\t' '{ sum += $1; if (sum < 0.9 * NR) exit; print }' by-classifier >precise
same stdout precise
expect 0 $learn --learn-from learned.gold --threshold-from learned.gold
stderr_has "threshold 0."

expect 0 $learn --learn-from learned.gold --leave-out shorter,target_weight --save-classifier without.json
for feature in shorter target_weight; do
  grep -A 3 "\"$feature\"" without.json | grep -q '"weight": 0.0$' || fail "$feature should have no weight: $(cat without.json)"
done
expect 2 $learn --learn-from learned.gold --leave-out color

# What a classifier is refused for.
printf 'd-1\te-2\n' >never
expect 1 $learn --learn-from never
stderr_has "the gold standard has none: there is nothing to learn from"
expect 1 $learn --classifier classifier.json --margin distance
stderr_has "classifier.json: it was trained with --margin ratio, not distance"
sed 's/"source_covered"/"something"/' classifier.json >other.json
expect 1 $learn --classifier other.json
stderr_has "other.json: the feature 'source_covered' is missing"
sed 's/"standard_deviation": [0-9.]*/"standard_deviation": 0/' classifier.json >flat.json
expect 1 $learn --classifier flat.json
stderr_has "flat.json: 'standard_deviation' is 0, expected 1e-09 to 1e+09"
sed 's/"weight": [-0-9.]*/"weight": 1e308/' classifier.json >huge.json
expect 1 $learn --classifier huge.json
stderr_has "huge.json: 'weight' is 1e+308"
sed 's/"margin": {/"margin": 3, "more": {/' classifier.json >number.json
expect 1 $learn --classifier number.json
stderr_has "number.json: it has 14 features, expected 13"
printf '{"kind": "another"}' >another.json
expect 1 $learn --classifier another.json
stderr_has "another.json: not a classifier saved by calque mine"
head -c 200 classifier.json >cut.json
expect 1 $learn --classifier cut.json
stderr_has "cut.json"
expect 1 $learn --learn-from learned.gold --save-classifier no/such/classifier.json
stderr_has "no/such"
expect 2 $learn --save-classifier classifier.json
stderr_has "save-classifier and leave-out need something to learn-from"
expect 2 $learn --learn-from learned.gold --save-classifier learned.gold
stderr_has "would overwrite learned.gold"
expect 2 $learn --learn-from learned.gold --save-classifier -
mkdir folder && ln -s classifier.json link.json
expect 1 $learn --learn-from learned.gold --save-classifier folder
stderr_has "folder: not a regular file"
expect 1 $learn --learn-from learned.gold --save-classifier link.json
expect 0 $learn --classifier classifier.json -k 5
stderr_has "classifier.json was trained with -k 4, not 5"
expect 0 mine --model "$TEACHER" --cache cache learned.de learned.en --classifier classifier.json --threshold 1
stderr_has "classifier.json was trained with another model"
stderr_has "no pair is probable enough"
seq 1 20000 | awk '{ printf "%s ", "word" $1 % 977 } END { print "" }' >long.txt
expect 0 mine --model student --cache cache --classifier classifier.json long.txt long.txt
expect 2 $learn --learn-from learned.gold --classifier classifier.json
stderr_has "exclude each other"
expect 2 mine --model student learned.de --classifier classifier.json
stderr_has "a classifier of pairs needs sentences of two files"
expect 2 mine source.npy target.npy --classifier classifier.json

# The name of the output decides its format; what no format is called is refused before the work.
expect 0 $mine source.ids target.ids.gz --text
cut -f 5,6 stdout >sentences
expect 0 $mine source.ids target.ids.gz -o pairs.tsv.gz
gzip -dc pairs.tsv.gz >unpacked
expect 0 $mine source.ids target.ids.gz -o -
same stdout unpacked
expect 0 $mine source.ids target.ids.gz -o pairs.jsonl
[ "$(wc -l <pairs.jsonl)" -eq "$(wc -l <unpacked)" ] || fail "a line of JSON is missing"
grep -q '^{"score": [0-9.]*, "cosine": [0-9.]*, "source": "[^"]*", "target": "[^"]*", "source_id": "s-21", "target_id": "t-01"}$' \
  pairs.jsonl || fail "no object of s-21 and t-01"
printf 'A "quoted" \\ sentence & <b>.\nAnother one.\n' >odd.txt
expect 0 $mine odd.txt odd.txt -o odd.jsonl.gz
gzip -dc odd.jsonl.gz | grep -qF '"source": "A \"quoted\" \\ sentence & <b>."' || fail "JSON is not escaped"
expect 0 $mine odd.txt odd.txt --languages en,de -o odd.tmx
expect 0 data convert --from tmx --columns en,de odd.tmx
grep -qxF 'A "quoted" \ sentence & <b>.	A "quoted" \ sentence & <b>.' stdout || fail "a memory does not come back: $(cat stdout)"
for ending in csv po xlf xliff; do
  expect 0 $mine odd.txt odd.txt --languages en,de -o odd.$ending.gz
  expect 0 data convert --columns en,de odd.$ending.gz
  grep -qxF 'A "quoted" \ sentence & <b>.	A "quoted" \ sentence & <b>.' stdout || fail "$ending does not come back: $(cat stdout)"
done
expect 2 $mine odd.txt odd.txt --languages en -o odd.tmx
stderr_has "--languages needs two codes"
for name in p.tsv.bz2 p.json p.xz p.moses.xz; do
  expect 1 $mine source.txt target.txt -o $name
  stderr_has "$name: pairs are not written as .${name##*.}; names that are: .tsv, .jsonl, .tmx, .moses"
  absent $name
done
expect 0 $mine source.ids target.ids.gz -o pairs.tsv.zst
[ "$(od -An -tx1 -N4 pairs.tsv.zst)" = " 28 b5 2f fd" ] || fail "pairs.tsv.zst is not compressed"
expect 0 data sample --rows 1000 pairs.tsv.zst
same stdout unpacked
expect 2 $mine odd.txt odd.txt -o odd.moses
stderr_has "--languages is needed for .moses"
expect 0 $mine odd.txt odd.txt --languages en,de -o odd.moses.gz
absent odd.moses.gz
expect 0 data convert --from moses odd.en.gz odd.de.gz
cp stdout both
expect 0 $mine odd.txt odd.txt
cut -f 2,3 stdout | diff - both >/dev/null || fail "two files do not come back: $(cat both)"
expect 1 mine --model "$TEACHER" odd.txt odd.txt --languages ../en,de -o odd.moses
stderr_has "'../en' is not a language code"
expect 1 $mine odd.txt odd.txt --languages en,en -o odd.moses
stderr_has "two files named by 'en' would be one"
expect 1 mine source.npy target.npy --languages en,de -o vectors.moses
stderr_has "vectors.moses: needs sentences, and a --model to encode them"
cp odd.txt text.de
expect 1 $mine text.de odd.txt --languages de,en -o text.moses --replace
stderr_has "text.de: is read, and would be overwritten"

# What is there is not overwritten unless it is said; an empty file holds nothing.
cp pairs.tsv.gz before
for name in pairs.tsv.gz odd.tmx odd.moses.gz; do
  expect 1 $mine source.txt target.txt --languages en,de -o $name
  stderr_has ": already exists (--replace overwrites it)"
done
same pairs.tsv.gz before
expect 0 $mine source.txt target.txt --languages en,de -o odd.moses.gz --replace
expect 0 $mine source.txt target.txt
cut -f 2 stdout >source-column
gzip -dc odd.en.gz | diff - source-column >/dev/null || fail "the first file is not the pairs' first side"
: >empty.tsv
expect 0 $mine source.txt target.txt -o empty.tsv
[ -s empty.tsv ] || fail "an empty file is not written to"

# The share of translations among the pairs, estimated without labels: 20 of these.
expect 0 $mine source.txt target.txt
stderr_has "with an estimated precision of "
expect 0 $mine source.txt target.txt --min-precision 0.99
stderr_has "pairs of score"
awk -F '\t' '$2 != $3 { bad++ } END { exit !(NR >= 10 && bad <= 1) }' stdout || fail "not the translations: $(cat stdout)"
expect 1 $mine odd.txt target.txt --min-precision 1
stderr_has "sentences are too few for an estimate, expected 20 or more"
expect 0 $mine odd.txt target.txt
! grep -q "estimated precision" stderr || fail "an estimate of two sentences"
expect 2 $mine source.txt --min-precision 0.9
stderr_has "min-precision is for pairs between two files"

# Vectors, of which the cache now has the same: .npy and numbers alone.
expect 0 encode --model "$TEACHER" --output source.npy source.txt
expect 0 encode --model "$TEACHER" --output source.bin source.txt
sed '/^$/d' target.txt >whole.txt
expect 0 encode --model "$TEACHER" --output target.npy whole.txt
expect 0 mine source.npy target.npy
cp stdout from-npy
[ "$(head -n 1 stdout | awk -F '\t' '{ print NF }')" -eq 3 ] || fail "vectors should give three columns"
dim=$("$PROGRAM" model info --json "$TEACHER" | sed -n 's/.*"dim": \([0-9]*\).*/\1/p' | head -n 1)
expect 0 mine source.bin target.npy --dim "$dim"
cmp -s stdout from-npy || fail "numbers alone and .npy differ"
python3 - source.npy double.npy <<'END'
import array, sys
bytes = open(sys.argv[1], "rb").read()
head, rows = bytes[:128].replace(b"<f4", b"<f8"), array.array("f", bytes[128:])
open(sys.argv[2], "wb").write(head + array.array("d", rows).tobytes())
END
expect 0 mine double.npy target.npy
cmp -s stdout from-npy || fail "float64 and float32 differ"
expect 0 cluster double.npy --min-size 2
for n in 1 2 3; do
  expect 0 mine source.npy target.npy --threads $n
  cmp -s stdout from-npy || fail "the result depends on the number of threads"
done

expect 1 mine source.npy target.npy -o vectors.tmx
stderr_has "vectors.tmx: needs sentences, and a --model to encode them"
expect 0 mine source.npy target.npy --first-pass int8
cmp -s stdout from-npy || fail "the first pass changes the result"

# Within one file: each pair once, its first line first.
expect 0 $mine target.ids.gz --retrieval forward
awk -F '\t' '$2 >= $3' stdout | grep -qv "t-42" && fail "a pair is printed the wrong way round"
[ "$(cut -f 2,3 stdout | sort | uniq -d | wc -l)" -eq 0 ] || fail "a pair is printed twice"
expect 0 mine target.npy --threads 3
[ "$(tr '\t' '\n' <stdout | awk 'NR % 3 != 1' | sort | uniq -d | wc -l)" -eq 0 ] || fail "a row is in two pairs"
expect 2 $mine source.ids --threshold-from gold

# What is refused.
check() {
  stdout_is_empty
  absent out
}
: >empty.txt
printf '\n \n' >blank.txt
printf 'a-1\tOne.\nTwo.\n' >no-id
printf 'a-1\tOne.\na-1\tTwo.\n' >twice
printf 's-21\tx-9\n' >unknown
printf 's-21\n' >short
head -c 1000 source.npy >cut.npy
head -c 1001 source.bin >cut.bin
expect 1 $mine empty.txt target.txt -o out
stderr_has "empty.txt: "
check
expect 1 $mine blank.txt target.txt -o out
stderr_has "blank.txt: there is no sentence in it (2 blank"
check
expect 1 $mine no-id target.txt -o out
stderr_has "no-id:2: no tab"
check
expect 0 $mine no-id target.txt --skip-bad
expect 1 $mine twice target.txt -o out
stderr_has "twice:2: the id 'a-1'"
check
expect 1 $mine source.ids target.ids.gz --threshold-from unknown -o out
stderr_has "unknown:1: the id 'x-9' is in no line of the corpus"
check
expect 1 $mine source.ids target.ids.gz --threshold-from short -o out
stderr_has "short:1: "
check
expect 1 $mine source.txt target.txt --threshold-from gold -o out
stderr_has "ids"
check
expect 1 mine cut.npy target.npy -o out
stderr_has "cut.npy"
check
expect 1 mine cut.bin target.npy --dim "$dim" -o out
stderr_has "cut.bin: 1001 bytes"
check
expect 1 mine source.bin target.npy -o out
stderr_has "source.bin: "
check
expect 1 mine source.bin target.npy --dim 7 -o out
check
head -c 64 /dev/zero | tr '\0' '\377' >nan.bin
expect 1 mine nan.bin nan.bin --dim 4 -o out
stderr_has "row 1 of the first vectors holds a number that is not finite"
check
expect 2 mine source.npy target.npy --drop copies
expect 2 $mine source.txt target.txt --drop everything
expect 2 $mine source.txt target.txt --dim 3
expect 1 $mine source.txt target.txt --output no/such/out
# What is said early, and what is said of input that is probably meant otherwise.
expect 1 $mine source.txt target.txt --output nowhere/pairs.tsv
stderr_has "nowhere"
absent nowhere
gzip -dc "$SOURCE/sample/test/en-de.tsv.gz" | head -n 5 >translations.tsv
expect 0 $mine translations.tsv source.txt
stderr_has "is taken as an id"
expect 1 mine source.txt target.txt
stderr_has "sentences need a model"
printf 'y\tx\n' >swapped
printf '1.5\tx\ty\n' >scored
expect 0 eval bucc swapped scored
stderr_has "has none of the pairs"

# Approximate neighbors: when all lists are searched, the pairs are those of the exact search.
seq 1 200 | awk '{ print "Sentence number " $1 " is about a thing of its own, namely " $1 * 7919 % 1009 "." }' >many.txt
"$PROGRAM" $mine many.txt many.txt --quiet >exact.out
expect 0 $mine many.txt many.txt --approximate --effort 64
stderr_has "10 of 10 lists, 100.0 % of all pairs compared; of a sample of pairs that are each other's nearest, 100.0 %"
same exact.out stdout
expect 2 $mine many.txt --approximate
expect 2 $mine many.txt many.txt --effort 4

finish
