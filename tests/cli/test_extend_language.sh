# calque extend --own-vocabulary: a language beside a model's files, which keep their bytes; every command opens it, a
# stopped run resumes and ends with the same bits, and what cannot be done is refused before anything is trained.
. "$(dirname "$0")/common.sh"

sample=$SOURCE/sample
for l in de ru; do gzip -dc "$sample/train/en-$l.tsv.gz" | head -n 1500 >$l.tsv; done
cut -f 1 ru.tsv | head -n 50 >english.txt
cut -f 2 de.tsv | head -n 50 >german.txt
cut -f 2 ru.tsv | head -n 50 >russian.txt
cp -r "$sample/teacher" model
run="extend model --own-vocabulary --to de=de.tsv --cache cache --steps 20"

# What is in the first directory is in the second, byte by byte.
holds_all_of() {
  local file
  while read -r file; do same "$1/$file" "$2/$file"; done < <(cd "$1" && find . -type f)
}
vectors() { "$PROGRAM" encode --replace --model "$1" "$2" -o "$3" 2>stderr || fail "$1 gives no vectors"; }

vectors model english.txt before.npy
expect 0 $run --threads 2 -o one
stderr_has "de has a vocabulary of its own (--own-vocabulary): its embeddings alone are trained"
stderr_has "weight 1 (--contrast), in the end 1 (--final-contrast)"
stderr_has "wrote one"
holds_all_of model one
[ -f one/languages/de/README.md ] && [ -s one/languages/de/log.jsonl ] || fail "no card or log"
[ ! -e one.extend ] && [ ! -e one.work ] || fail "work in progress was left behind"
expect 0 extend one --own-vocabulary --to ru=ru.tsv --cache cache --steps 20 -o two
holds_all_of one two
vectors two english.txt after.npy
same before.npy after.npy
vectors one/languages/de german.txt de-one.npy
vectors two/languages/de german.txt de-two.npy
same de-one.npy de-two.npy
vectors two/languages/ru russian.txt ru.npy
(cd two/languages && "$PROGRAM" encode --model ru ../../russian.txt -o ../../ru-here.npy) 2>stderr
same ru.npy ru-here.npy
expect 0 model info two
grep -q '^languages  *\["de", *"ru"\]$' stdout || fail "the languages are not listed"
expect 0 model info two/languages/ru
stdout_has "body                     two"
expect 0 eval translation --model two/languages/ru "$sample/dev/en-ru.tsv.gz"

# Exported, it is a model like any other, whose body is the first model's.
expect 0 model new --kind copy --from two/languages/de complete
vectors complete german.txt de-complete.npy
same de-one.npy de-complete.npy
expect 0 model check two/languages/de complete
body_of model >body
[ -s body ] || fail "no body"
body_of complete | cmp -s - body || fail "the body has changed"
expect 0 model quantize two/languages/de -o small
expect 0 model trim two/languages/de --text german.txt -o trimmed

# What a whole model is turned into keeps its languages, and says so where it cannot.
expect 0 model quantize two -o bf16 --precision bf16
expect 0 model quantize two -o int8
expect 0 model trim two --text english.txt -o fewer
for smaller in bf16 int8 fewer; do
  expect 0 model info $smaller
  grep -q '^languages  *\["de", *"ru"\]$' stdout || fail "$smaller has lost its languages"
  [ -s $smaller/languages/ru/README.md ] && [ -s $smaller/languages/ru/log.jsonl ] || fail "no card or log in $smaller"
done
vectors fewer/languages/ru russian.txt ru-fewer.npy
same ru.npy ru-fewer.npy
for smaller in bf16 int8; do
  expect 0 model check two/languages/de $smaller/languages/de --min-cosine 0.98
done
[ "$(stat -c %s bf16/languages/de/model.safetensors)" -lt "$(stat -c %s two/languages/de/model.safetensors)" ] ||
  fail "the languages of a model in bf16 are not"
expect 0 extend two --to ru=ru.tsv --contrast 1 --cache cache --steps 1 -o plain
stderr_has "2 languages in the model's directory are left out"
absent plain/languages

# It has learned: nearer to the model's vectors than the vocabulary as it was placed.
mse_after() { sed -n "s/.*\"step\":$1,.*\"mse_target\":\([0-9.e-]*\),.*/\1/p" one/languages/de/log.jsonl | head -n 1; }
awk -v a="$(mse_after 0)" -v b="$(mse_after 20)" 'BEGIN { exit !(b > 0 && b < a) }' || fail "nothing was learned"

# The same bits on one thread, and stopped and resumed.
"$PROGRAM" $run --threads 1 -o stopped >log 2>&1 &
pid=$!
while kill -0 "$pid" 2>/dev/null && ! grep -qs '^step 6$' log; do sleep 0.05; done
kill "$pid" 2>/dev/null
wait "$pid"
if [ -e stopped.extend/plan ]; then
  expect 1 $run -o stopped
  stderr_has "an earlier call ended before it was done: resume it"
  expect 0 $run --resume --threads 1 -o stopped
fi
same one/languages/de/model.safetensors stopped/languages/de/model.safetensors
same one/languages/de/tokenizer.json stopped/languages/de/tokenizer.json
holds_all_of model stopped
# Killed when it was trained, before the output was there: only that is made.
"$PROGRAM" $run --threads 1 -o late >late.log 2>&1 &
pid=$!
while kill -0 "$pid" 2>/dev/null && ! grep -qs '^step 2$' late.log; do sleep 0.05; done
kill "$pid" 2>/dev/null
wait "$pid"
if [ -e late.extend/plan ]; then
  rm -rf late.extend/trained.work
  cp -r complete late.extend/trained
  expect 0 $run --resume -o late
  ! grep -q '^step' stderr || fail "it was trained again"
fi
same one/languages/de/model.safetensors late/languages/de/model.safetensors

# What the model has is kept unless it is to be replaced; a model may be its own output.
expect 1 $run -o one
stderr_has "one: already exists"
expect 1 ${run/extend model/extend one} -o three
stderr_has "one/languages/de: already exists (--replace"
absent three
expect 0 ${run/extend model/extend two} --lr 1e-3 --embedding-lr 5e-3 --replace -o two
holds_all_of model two
vectors two/languages/ru russian.txt ru-kept.npy
same ru.npy ru-kept.npy
! cmp -s one/languages/de/model.safetensors two/languages/de/model.safetensors || fail "de was not replaced"

# What cannot be.
expect 2 $run --to ru=ru.tsv -o none
stderr_has "own-vocabulary: ru.tsv: 'ru' and 'de', expected one language at a time"
expect 2 $run --text ru=russian.txt -o none
stderr_has "russian.txt: 'ru' and 'de'"
expect 2 extend model --own-vocabulary --to de.tsv -o none
stderr_has "own-vocabulary: de.tsv: which language's?"
expect 2 extend model --own-vocabulary --to ../de=de.tsv -o none
stderr_has "'../de' becomes a directory's name"
expect 2 $run --kind static -o none
stderr_has "own-vocabulary: a static student is its word embeddings"
expect 1 extend one/languages/de --own-vocabulary --to ru=ru.tsv -o none
stderr_has "one/languages/de: is a language of one"
expect 1 $run -o model/inside
stderr_has "model/inside: lies in the model model"
absent model/inside
expect 0 model new --kind static --text de.tsv --vocab-size 80 --dim 32 static
expect 1 ${run/extend model/extend static} -o none
stderr_has "static: is a StaticEmbedding, which has no layers"
absent none
expect 1 encode --model one/languages/tr german.txt -o none.npy
stderr_has "one/languages/tr: no such directory"
mkdir -p static/languages/de
cp one/languages/de/* static/languages/de
expect 1 encode --model static/languages/de german.txt -o none.npy
stderr_has "StaticEmbedding, which has no layers"
head -c 1000 one/languages/de/model.safetensors >damaged
cp damaged one/languages/de/model.safetensors
expect 1 encode --model one/languages/de german.txt -o none.npy
stderr_has "one/languages/de/model.safetensors"
vectors one english.txt still.npy
same before.npy still.npy
rm one/languages/de/tokenizer.json one/languages/de/sentencepiece.bpe.model
expect 1 encode --model one/languages/de german.txt -o none.npy
stderr_has "one/languages/de"
absent none.npy
finish
