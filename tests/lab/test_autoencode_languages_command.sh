# calque autoencode: more than two languages, text of one language, languages that join a model, early stopping.
. "$(dirname "$0")/../cli/common.sh"
. "$SOURCE/tests/cli/made_up.sh"

made_up 400 >all.tsv
sed -n 1,200p all.tsv | cut -f 1,2 >xy.tsv
sed -n 101,300p all.tsv | cut -f 1,3 >xz.tsv
sed -n 301,400p all.tsv >unseen.tsv
cut -f 2,3 unseen.tsv >yz.tsv
tiny="--vocab-size 30 --embedding 24 --hidden 48 --latent 48 --batch 16 --lr 1e-2 --decoder-dropout 0 --noise 0.02"
train="$tiny --word-dropout 0 --encoder-epochs 10 --decoder-epochs 40"

# translates MODEL FROM TO MIN FILE: column 1 of the file into its column 2, with at least this BLEU.
translates() {
  cut -f 2 "$5" >reference.txt
  expect 0 autoencode translate --model "$1" --from "$2" --to "$3" --tsv 1 "$5"
  cp stdout translated.txt
  expect 0 eval mt translated.txt reference.txt --measure bleu --csv
  awk -F, -v min="$4" 'NR == 2 && $NF >= min { good = 1 } END { exit !good }' stdout ||
    fail "BLEU from $2 into $3 with $1: $(tail -n 1 stdout)"
}

# Any number of languages at once: from yy to zz by way of xx, with no pair of the two.
expect 0 autoencode train three xx,yy=xy.tsv xx,zz=xz.tsv $train
stderr_has "data: xz: 199 sources"
translates three yy zz 40 yz.tsv
translates three xx zz 60 xz.tsv
diff -q three/encoder-yy/tokenizer.json three/encoder-zz/tokenizer.json >/dev/null && fail "one vocabulary for two languages"

# A third language joins two, which stay as they are.
expect 0 autoencode train two xx,yy=xy.tsv $train
expect 0 autoencode train joined xx,zz=xz.tsv $train --join two
for part in encoder-xx encoder-yy decoder-xx decoder-yy; do
  diff -r two/$part joined/$part >/dev/null || fail "$part has changed when another language joined"
done
translates joined yy zz 40 yz.tsv
translates joined xx yy 60 xy.tsv
expect 0 autoencode train again xx,zz=xz.tsv --vocab-size 30 --embedding 24 --hidden 48 --batch 16 --join two --latent 99 --encoder-epochs 1 --decoder-epochs 1
expect 1 autoencode train new xx,yy=xy.tsv $train --join two
stderr_has "two: there is no new language"
expect 1 autoencode train new xx,zz=xz.tsv $train --join two --dev xx,yy=xy.tsv
stderr_has "xy.tsv: has languages that are in the joined model already"
expect 1 autoencode train new xx,zz=xz.tsv xx,yy=xy.tsv $train --join two
stderr_has "xy.tsv: has languages that are in the joined model already"
expect 1 autoencode train new xx,zz=xz.tsv $train --join two --latent-as encoder-states --bidirectional no
stderr_has "from 'xx' into 'zz'"
expect 1 autoencode train new xx,zz=xz.tsv $train --join nowhere
stderr_has "nowhere/autoencoder.json"
expect 1 autoencode train new zz=xz.tsv $train --join two
stderr_has "no translations to train encoders alone on"

# Text of one language is for its decoder: the vectors stay.
cut -f 3 unseen.tsv >zz.txt
short="$tiny --encoder-epochs 1 --decoder-epochs 1"
expect 0 autoencode train plain xx,zz=xz.tsv $short
expect 0 autoencode train more xx,zz=xz.tsv zz=zz.txt $short
stderr_has "data: zz: 100 sources"
cmp -s plain/decoder-zz/model.safetensors more/decoder-zz/model.safetensors && fail "text of zz changes nothing"
expect 0 autoencode train second xx,zz=xz.tsv ,zz=yz.tsv $short
for part in encoder-zz decoder-zz; do # the same sentences in the second column of a file
  diff -r more/$part second/$part >/dev/null || fail "$part depends on the column that text is in"
done
printf 'lo gato\n' >narrow.tsv
expect 1 autoencode train new xx,zz=xz.tsv ,zz=narrow.tsv $short
stderr_has "narrow.tsv:1: there is no column 2"
printf '\tlo gato\n' >hollow.tsv
expect 1 autoencode train new xx,zz=xz.tsv zz=hollow.tsv $short
stderr_has "hollow.tsv:1: column 1 is empty"

# Stopped early, and on dev of several pairs of languages; threads change nothing.
early="$(echo "$tiny" | sed 's,--lr 1e-2,--lr 1e-9,') --encoder-epochs 2 --decoder-epochs 50 --patience 2 --dev xx,yy=xy.tsv --dev xx,zz=unseen.tsv"
for threads in 1 2; do
  expect 0 autoencode train "early$threads" xx,yy=xy.tsv xx,zz=xz.tsv yy=zz.txt $early --threads $threads
  grep -q "epoch 1: BLEU xx-yy [0-9.]*, yy-xx [0-9.]*, xx-zz [0-9.]*, zz-xx " stderr || fail "not every way has a BLEU"
  grep -q "epoch 4" stderr && fail "it did not stop early"
done
diff -r -x log.jsonl -x README.md early1 early2 >/dev/null || fail "two threads write another model than one"
expect 0 autoencode train shared xx,yy=xy.tsv xx,zz=xz.tsv yy=zz.txt $short --shared-latent yes --together 1 --two-optimizers yes
cmp -s shared/encoder-xx/3_Dense/model.safetensors shared/encoder-zz/3_Dense/model.safetensors ||
  fail "the layer that gives the vector is not one"
expect 1 autoencode train new xx,zz=xz.tsv $short --join two --shared-latent yes
stderr_has "shared-latent excludes join, whose layers do not change"
expect 1 autoencode train new xx,yy=xy.tsv $short --patience 2
stderr_has "patience without dev"
# Killed again and again, with all that has a state: the same model and the same log.
all="$tiny --together 1 --encoder-epochs 1 --decoder-epochs 6 --two-optimizers yes --shared-latent yes --patience 2 --checkpoint-every 3"
texts="xx,yy=xy.tsv xx,zz=xz.tsv yy=zz.txt --dev xx,yy=xy.tsv --dev xx,zz=unseen.tsv"
begin=${EPOCHREALTIME/./}
expect 0 autoencode train whole $texts $all
whole=$((${EPOCHREALTIME/./} - begin)) # microseconds
n=0
until [ -d parts ] || [ $n -gt 60 ]; do
  n=$((n + 1))
  after=$(awk -v n=$n -v whole=$whole 'BEGIN { print whole / 1e6 * (2 + n % 7) / 14 }')
  timeout -s KILL "$after" "$PROGRAM" autoencode train parts $texts $all --resume >/dev/null 2>&1
  [ $n -lt 8 ] || "$PROGRAM" autoencode train parts $texts $all --resume >/dev/null 2>&1
done
[ $n -gt 2 ] || fail "the run was over before it was killed"
diff -r whole parts >/dev/null || fail "another model or log after $n runs"
expect 1 autoencode train new xx,yy=xy.tsv $short --dev xx,zz=xz.tsv
stderr_has "dev has 'zz'"
expect 1 autoencode train new xx,yy=xy.tsv $short --dev xx,yy=xy.tsv --dev yy,xx=xy.tsv
stderr_has "both xx,yy and yy,xx"
expect 2 autoencode train new xx,yy=xy.tsv xz.tsv $short
stderr_has "'xz.tsv' does not say its languages"
[ ! -e new ] || fail "a model was left behind"
finish
