# calque autoencode: train, translate.
. "$(dirname "$0")/../cli/common.sh"
. "$SOURCE/tests/cli/made_up.sh"

made_up 200 | cut -f 1,2 >pairs.tsv
cut -f 1 pairs.tsv >xx.txt
cut -f 2 pairs.tsv >yy.txt
tiny="--languages xx,yy --vocab-size 30 --embedding 24 --hidden 48 --latent 48 --batch 16 --lr 1e-2 --decoder-dropout 0"
train="$tiny --noise 0.02 --word-dropout 0 --encoder-epochs 10 --decoder-epochs 60"
short="$tiny --encoder-epochs 1 --decoder-epochs 1"

# is_translated LANGUAGE: standard output is a good translation into it, a line for a line.
is_translated() {
  cp stdout "translated-$1.txt"
  lines_are "translated-$1.txt" 200
  expect 0 eval mt "translated-$1.txt" "$1.txt" --measure bleu --csv
  awk -F, 'NR == 2 && $NF > 60 { good = 1 } END { exit !good }' stdout || fail "BLEU into $1: $(tail -n 1 stdout)"
}

expect 0 autoencode train model pairs.tsv $train --threads 1
stdout_is_empty
stderr_has "199 pairs, 910 steps"
stderr_has "data: pairs: 199 sources, 199 pairs (200 lines, 0 malformed skipped, 0 pairs too long)"
absent model.work
expect 0 autoencode translate --model model --from xx --to yy xx.txt
is_translated yy
expect 0 autoencode translate --model model --from yy --to xx --threads 2 --batch 7 --tsv 2 pairs.tsv
is_translated xx

# Any way of giving the same sentences, and of working on them, writes the same.
expect_from xx.txt 0 autoencode translate --model model --from xx --to yy --threads 2 --batch 33
same stdout translated-yy.txt
head -n 120 xx.txt >first.txt
tail -n 80 xx.txt | gzip -c >rest.txt.gz
expect 0 autoencode translate --model model --from xx --to yy first.txt rest.txt.gz
same stdout translated-yy.txt
expect 0 autoencode translate --model model --from xx --to xx xx.txt
lines_are stdout 200
expect 0 autoencode translate --model model --from xx --to yy --beam 1 --max-tokens 2 xx.txt
lines_are stdout 200
awk 'NF > 2 { exit 1 }' stdout || fail "--max-tokens 2 writes more than two words"
# Nothing, what has no vocabulary, and what is no sentence.
: >empty.txt
expect 1 autoencode translate --model model --from xx --to yy empty.txt
stdout_is_empty
stderr_has "empty.txt"
printf 'the \xe6\xb0\xb4 cat\n' >unknown.txt
expect 0 autoencode translate --model model --from xx --to yy unknown.txt
lines_are stdout 1
yes the cat | head -n 60 | tr '\n' ' ' >long.txt
expect 0 autoencode translate --model model --from xx --to yy xx.txt long.txt
stderr_has "1 of 201 sentences were longer than the encoder reads and were truncated"
printf 'the cat\n\nthe dog\n' >gap.txt
expect 0 autoencode translate --model model --from xx --to yy gap.txt
lines_are stdout 3
[ -z "$(sed -n 2p stdout)" ] && [ -n "$(sed -n 3p stdout)" ] || fail "an empty line is not an empty line: $(cat stdout)"
printf '\n \t\n' >blank.txt
expect 0 autoencode translate --model model --from xx --to yy blank.txt
same stdout <(printf '\n\n')
printf 'the cat\n\xff\n' >bytes.txt
expect 1 autoencode translate --model model --from xx --to yy bytes.txt
stderr_has "bytes.txt:2"
expect 0 autoencode translate --model model --from xx --to yy --skip-bad bytes.txt
lines_are stdout 1
stderr_has "1 line"

# A language's encoder is an encoder like any other.
expect 0 encode --model model/encoder-xx -o vectors.npy xx.txt
[ -s vectors.npy ] || fail "no vectors"
cp vectors.npy direct.npy
expect 0 autoencode encode --model model --language xx --replace -o vectors.npy xx.txt
same vectors.npy direct.npy
expect 0 autoencode encode --model model --language yy --normalize yy.txt
lines_are stdout 200
expect 1 autoencode encode --model model --language zz xx.txt
stderr_has "encoder-zz"
expect 1 autoencode encode --model model --language ../xx xx.txt
stderr_has "'../xx' is not a language code"
expect 2 autoencode encode --model model xx.txt
stderr_has "--language CODE is missing"
expect 0 model info model/encoder-yy
stdout_has "48"

# Threads do not change a byte, nor does doing it again; the seed does.
same_model() { diff -r -x log.jsonl "$1" "$2" >/dev/null; }
for threads in 1 2; do expect 0 autoencode train "t$threads" pairs.tsv $short --threads $threads; done
same_model t1 t2 || fail "two threads write another model than one"
expect 1 autoencode train t2 pairs.tsv $short
stderr_has "t2"
same_model t1 t2 || fail "a model was touched without --replace"
expect 0 autoencode train t2 pairs.tsv $short --replace
same_model t1 t2 || fail "the same again is another model"
expect 0 autoencode train t2 pairs.tsv $short --replace --seed 2
same_model t1 t2 && fail "another seed gives the same model"
for way in "--feed both" "--feed other" "--contrast pairs" "--latent-as state" "--latent-as every-step" "--bidirectional no" "--latent-as encoder-states --bidirectional no" "--shared-latent yes" "--adversary 0.1" \
  "--vocabulary words" "--schedule cosine" "--pooling mean" "--unit-length no" "--distance 0" "--noise 0" "--layers 2" "--together 1" "--together 1 --two-optimizers yes"; do
  expect 0 autoencode train t2 pairs.tsv $short --replace $way
  same_model t1 t2 && fail "$way changes nothing"
done

# The system as described, and the best model on dev.
head -n 60 pairs.tsv >dev.tsv
expect 0 autoencode train described pairs.tsv --languages xx,yy --recipe as-described --vocab-size 30 --together 2 \
  --dev dev.tsv --threads 2
stderr_has "epoch 1: BLEU xx-yy"
stderr_has "epoch 2: BLEU xx-yy"
stderr_has "the model that is kept, on dev: BLEU"
config=described/decoder-xx/decoder_config.json
grep -q '"latent_dim": 16' $config || fail "the vector is not of 16 numbers"
grep -q '"states_from_encoder": true' $config || fail "decoders do not begin where the encoder ended"
cmp -s described/encoder-xx/3_Dense/model.safetensors described/encoder-yy/3_Dense/model.safetensors ||
  fail "the layer that gives the vector is not one"
# Help says what that recipe's values are: given one by one they make the same model.
expect 0 autoencode train --help
values=$(tr '\n' ' ' <stdout | sed 's/.*Its values: \(--[^.]*\(\.[0-9][^.]*\)*\)\. .*/\1/')
expect 0 autoencode train described2 pairs.tsv --languages xx,yy --vocab-size 30 $(echo "$values" | sed 's/--together 30/--together 2/') \
  --dev dev.tsv
diff -r -x log.jsonl described described2 >/dev/null || fail "help says other values than the recipe has: $values"
# A teacher's vectors, of one language's sentences.
dim=$(sed -n 's/.*"hidden_size": \([0-9]*\).*/\1/p' "$TEACHER/config.json")
taught="$tiny --encoder-epochs 20 --decoder-epochs 1 --teacher $TEACHER --teacher-language xx --alpha 0 --distance 0"
HOME=$tmp expect 0 autoencode train taught pairs.tsv $(echo "$taught" | sed "s/--latent 48/--latent $dim/")
grep -q '"distillation"' taught/log.jsonl || fail "nothing was learned from the teacher"
awk -F'"distillation":' '/distillation/ { split($2, v, /[,}]/); if (!n++) first = v[1]; last = v[1] }
  END { exit !(last < first / 2) }' taught/log.jsonl || fail "vectors do not come nearer to the teacher's"
HOME=$tmp expect 1 autoencode train new pairs.tsv $taught --replace
stderr_has "vectors of $dim dimensions"
HOME=$tmp expect 1 autoencode train new pairs.tsv $short --teacher "$TEACHER"
stderr_has "without the language"
HOME=$tmp expect 1 autoencode train new pairs.tsv $short --teacher "$TEACHER" --teacher-language zz
stderr_has "no text of the teacher's language"
absent described.work

# What is refused: before anything is written, where that is possible.
expect 2 autoencode train new pairs.tsv
stderr_has "--languages"
for languages in "" , xx, xx,yy,zz xx,,; do
  expect 2 autoencode train new pairs.tsv --languages "$languages"
  stderr_has "expected the languages of columns"
done
long=$(printf 'x%.0s' $(seq 70))
expect 1 autoencode train new pairs.tsv --languages "$long,yy"
stderr_has "'$long' is not a language code"
expect 1 autoencode train new pairs.tsv --languages xx,xx
stderr_has "both languages are 'xx'"
expect 1 autoencode train new pairs.tsv --languages a/b,yy
stderr_has "'a/b' is not a language code"
expect 1 autoencode train new pairs.tsv --languages xx,../y
stderr_has "'../y' is not a language code"
expect 1 autoencode train new pairs.tsv $tiny --decoder-epochs 0 --together 0
stderr_has "decoders need some"
expect 1 autoencode train new nowhere.tsv $short
stderr_has "nowhere.tsv"
expect 1 autoencode train new pairs.tsv $short --dev nowhere.tsv
stderr_has "nowhere.tsv"
printf 'the cat\tlo gato\nthe dog\t\n' >half.tsv
expect 1 autoencode train new half.tsv $short
stderr_has "half.tsv:2"
expect 1 autoencode train new pairs.tsv half.tsv $short
stderr_has "half.tsv:2"
expect 1 autoencode train new pairs.tsv $short --dev half.tsv
stderr_has "half.tsv:2"
expect 1 autoencode train new empty.txt $short
stderr_has "empty.txt"
expect 1 autoencode train new pairs.tsv $short --dev empty.txt
stderr_has "empty.txt"
expect 1 autoencode train new xx.txt $short
stderr_has "xx.txt:1"
expect 0 autoencode train small ${short/--vocab-size 30/--vocab-size 5000} pairs.tsv
stderr_has "xx: the text makes a vocabulary of"
stderr_has "not 5000"
expect 1 autoencode train new pairs.tsv $short --latent-as encoder-states
stderr_has "reads in one direction"
expect 1 autoencode train new xx,yy=pairs.tsv xx,zz=pairs.tsv $short --adversary 1
stderr_has "a discriminator is for two languages, there are 3"
expect 2 autoencode train new pairs.tsv $short --temperature 0
stderr_has "temperature is 0"
expect 1 autoencode train new pairs.tsv $short --alpha 0 --distance 0
stderr_has "losses weighted"
[ ! -e new ] || fail "a model was left behind"
for from_to in "zz xx" "xx zz"; do
  expect 1 autoencode translate --model model --from ${from_to% *} --to ${from_to#* } xx.txt
  stderr_has "'zz'"
done
expect 1 autoencode translate --model model --from xx --to yy nowhere.txt
stderr_has "nowhere.txt"
expect 1 autoencode translate --model nowhere --from xx --to yy xx.txt
stderr_has "nowhere/autoencoder.json"
expect 2 autoencode translate --model model --from xx --to yy --beam 0 xx.txt
expect 2 autoencode translate --model model --from xx xx.txt

# damaged FILE WORD SED-COMMAND...: opening says the file's name and the word.
damaged() {
  local file=$1 word=$2
  shift 2
  rm -rf copy
  cp -r t1 copy
  (cd copy && "$@")
  expect 1 autoencode translate --model copy --from xx --to yy first.txt
  stderr_has "$file"
  stderr_has "$word"
}
damaged autoencoder.json languages sed -i 's/languages/codes/' autoencoder.json
damaged autoencoder.json languages sed -i 's/"yy"//; s/"xx",/"xx"/' autoencoder.json
damaged autoencoder.json code sed -i 's/"yy"/""/' autoencoder.json
damaged autoencoder.json code sed -i 's/"yy"/7/' autoencoder.json
damaged autoencoder.json code sed -i 's/"yy"/"..\/yy"/' autoencoder.json
damaged encoder-zz "" sed -i 's/"yy"/"zz"/' autoencoder.json
damaged autoencoder.json "" sed -i '1s/{/[/' autoencoder.json
damaged encoder-xx "" rm -r encoder-xx
damaged decoder_config.json "" rm decoder-yy/decoder_config.json
damaged decoder_config.json hidden_dim sed -i 's/hidden_dim/hidden/' decoder-yy/decoder_config.json
damaged decoder-yy/model.safetensors "" truncate -s 1000 decoder-yy/model.safetensors
damaged decoder-xx/model.safetensors "" sed -i 's/"latent_dim": 48/"latent_dim": 47/' decoder-xx/decoder_config.json
damaged decoder-xx "" cp -r ../described/decoder-xx/. decoder-xx
damaged decoder-xx "the vocabulary differs from the encoder's" cp ../model/decoder-yy/tokenizer.json ../model/decoder-yy/sentencepiece.bpe.model decoder-xx
finish
