# calque finetune: each kind of pairs is learned, runs go on to the same bits, bad files are named.
. "$(dirname "$0")/common.sh"

# A sentence and its translation, which share no word; every other sentence stands beside another's.
pairs 28 | sed 's/ in house [0-9]*//; s/, Haus [0-9]*//' >like.tsv
awk -F '\t' '{ first[NR] = $1; second[NR] = $2 } END { for (i = 1; i <= NR; i++) {
  print first[i] "\t" second[i] "\tentailment"
  print first[i] "\t" second[(i * 5) % NR + 1] "\tneutral" } }' like.tsv >nli.tsv
awk -F '\t' -v OFS='\t' '{ print $1, $2, $3 == "neutral" ? 0.5 : 4.5 }' nli.tsv >scored.tsv
cp scored.tsv sts.tsv
awk -F '\t' '{ print $0 "\tIt is something else, number " NR "." }' like.tsv >hard.tsv
cp like.tsv dev.tsv
pairs 300 >text.tsv
"$PROGRAM" model new --kind static --keep-case --text text.tsv --vocab-size 80 --dim 24 model 2>stderr || fail "no model"
common="finetune --model model --seed 3 --epochs 40 --warmup 0"

# The rank correlation of what comes out.
spearman() { "$PROGRAM" eval sts --model "$1" --csv sts.tsv 2>stderr | awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /[Ss]pearman/) c = i } NR == 2 { print $c }'; }
rises() { # MODEL MIN
  local is
  is=$(spearman "$1")
  awk -v is="${is:-none}" -v min="$2" 'BEGIN { exit !(is + 0 > min) }' || fail "$1 has a correlation of $is, expected more than $2"
}

awk -v is="$(spearman model)" 'BEGIN { exit !(is != "" && is + 0 < 0.5) }' || fail "the untrained model knows it already"
expect 0 $common --lr 0.01 --scored scored.tsv --output by-scores
rises by-scores 0.85
grep -q "squared error of the cosine" by-scores/README.md || fail "the card does not say how it was made"
expect 0 $common --lr 0.01 --nli nli.tsv --output by-labels --sts sts.tsv --evaluate-every 30
stderr_has "Spearman"
stderr_has "2 labels: entailment 28, neutral 28"
rises by-labels 0.6
expect 0 $common --lr 0.01 --pairs hard.tsv --dev dev.tsv --batch 14 --symmetric --output by-pairs --json
stdout_has '"best_score"'
grep -q "| dev |.* -> " by-pairs/README.md || fail "the card has no figures before and after"
grep -q "MSE src" by-pairs/README.md && fail "an MSE without a teacher"

# Averaged weights, without anything held out.
expect 0 $common --lr 0.01 --scored scored.tsv --evaluate-every 5 --average 4 --output averaged
stderr_has "the mean of 4 evaluations' weights"
rises averaged 0.85
! cmp -s by-scores/0_StaticEmbedding/model.safetensors averaged/0_StaticEmbedding/model.safetensors ||
  fail "averaging changed nothing"

# All kinds at once, in more than one file; stopped and gone on with, by another number of threads.
all="$common --lr 0.01 --nli nli.tsv --scored scored.tsv --pairs like.tsv --pairs hard.tsv:2 --checkpoint-every 5 --accumulate 2"
expect 0 $all --output whole --threads 2
"$PROGRAM" $all --output stopped --threads 2 >stdout 2>stderr &
pid=$!
for _ in $(seq 200); do
  [ -e stopped.work/checkpoint ] && break
  kill -0 $pid 2>/dev/null || break
  sleep 0.01
done
kill -INT $pid 2>/dev/null
wait $pid
if [ -e stopped ]; then echo "note: the run was over before the signal came"; else expect 0 $all --output stopped --threads 1 --resume; fi
expect 0 model check whole stopped --min-cosine 1
for file in whole stopped; do find $file -name '*.safetensors' -exec sha256sum {} + | cut -d ' ' -f 1 >$file.sum; done
[ -s whole.sum ] || fail "no weights in whole"
same whole.sum stopped.sum

# Kinds have batches by their share of the pairs: 56 labeled, 56 scored, 28 and 28 ranked.
expect 0 $common --lr 0.01 --nli nli.tsv --scored scored.tsv --pairs like.tsv --pairs hard.tsv --steps 30 --output mixed
for kind in labeled scored ranked; do
  n=$(grep -c "\"kind\":\"$kind\"" mixed/log.jsonl)
  [ "$n" -eq 10 ] || fail "$n batches of $kind pairs of 30, expected 10"
done

# Two batches of 8 are one of 16, but for rounding; of ranked pairs they are not.
expect 0 $common --lr 0.01 --nli nli.tsv --no-shuffle --batch 16 --steps 7 --output one --dropout 0
expect 0 $common --lr 0.01 --nli nli.tsv --no-shuffle --batch 8 --accumulate 2 --steps 7 --output two --dropout 0
expect 0 model check one two --min-cosine 0.99999

# What belongs to a sentence is no wrong answer to it: a batch of one sentence's pairs has none at all.
printf 'The sky.\tHimmel\nThe sky.\tWolken\nThe clouds.\tWolken\n' >alone.tsv
awk -F '\t' '{ print $0 "\tErde" }' alone.tsv >against.tsv
sed -i '1,2!d' alone.tsv
expect 0 $common --lr 1e-12 --pairs alone.tsv --batch 2 --steps 1 --symmetric --output alone
grep -q '"loss":0.0,' alone/log.jsonl || fail "a pair is taken for a wrong answer to itself: $(cat alone/log.jsonl)"
expect 0 $common --lr 1e-12 --pairs against.tsv --batch 3 --steps 1 --output against
grep -q '"loss":0.0,' against/log.jsonl && fail "what is not meant is no wrong answer"

# Pairs without a label and column names are no classes.
{ printf 'premise\thypothesis\tlabel\n'; head -n 2 nli.tsv; printf 'a\tb\t-1\na\tc\t-\n'; tail -n +3 nli.tsv; } >snli.tsv
expect 0 $common --nli nli.tsv --steps 3 --output without
expect 0 $common --nli snli.tsv --steps 3 --output with
stderr_has "left out: 2 without a label (-1 or -), the names of the columns"
stderr_has "2 labels: entailment 28, neutral 28"
same with/0_StaticEmbedding/model.safetensors without/0_StaticEmbedding/model.safetensors
sed 's/$/ /' nli.tsv >blanks.tsv
expect 0 $common --nli blanks.tsv --steps 3 --output blanks
stderr_has "2 labels: entailment 28, neutral 28"
{ printf 'label\tpremise\thypothesis\n'; awk -F'\t' '{ print $3 "\t" $1 "\t" $2 }' nli.tsv; } >swapped.tsv
expect 1 $common --nli swapped.tsv --skip-bad --steps 3 --output swapped
stderr_has "swapped.tsv:1: the label is in column 1, expected in column 3"

# What cannot be.
expect 2 $common --output o
stderr_has "nothing to train on"
printf 'a\tb\t4\nc\td\t6\n' >high.tsv
expect 1 $common --scored high.tsv --output o
stderr_has "high.tsv:2: '6' is not a score from 0 to 5"
printf 'a\tb\tyes\n' >word.tsv
expect 1 $common --scored word.tsv --output o
stderr_has "word.tsv:1:"
expect 1 $common --nli like.tsv --output o
stderr_has "like.tsv:1: 2 columns, expected two sentences and a label"
expect 1 $common --nli word.tsv --output o
stderr_has "one label"
printf 'a\tb\tc\td\n' >wide.tsv
expect 1 $common --pairs wide.tsv --output o
stderr_has "wide.tsv:1: 4 columns"
printf 'a\t\tc\n' >empty.tsv
expect 1 $common --nli empty.tsv --output o
stderr_has "column 2 is empty"
expect 1 $common --pairs like.tsv --batch 29 --output o
stderr_has "a batch of 29 of 28 pairs"
expect 1 $common --pairs like.tsv --batch 1 --output o
stderr_has "no wrong answers"
printf 'a\tb\t3\nc\td\t3\n' >flat.tsv
expect 1 $common --scored scored.tsv --sts flat.tsv --output o
stderr_has "flat.tsv: all scores are equal"
expect 1 $common --scored scored.tsv --lr 1e39 --clip 0 --steps 1 --output o
stderr_has "not numbers after step 1"
rm -rf o.work
for name in '' . .. some/..; do
  expect 1 $common --scored scored.tsv --replace --output "$name"
  stderr_has "not a name for a new directory"
done
mkdir mine && echo mine >mine/notes.txt
expect 1 $common --scored scored.tsv --output mine --replace
stderr_has "holds no model"
same mine/notes.txt <(echo mine)
ln -s whole link
expect 1 $common --scored scored.tsv --output link --replace
stderr_has "symbolic link"
[ -f whole/modules.json ] || fail "a link's target was emptied"
cp scored.tsv log.jsonl
expect 1 $common --scored scored.tsv --output o --log log.jsonl --resume
stderr_has "log.jsonl: already exists"
same log.jsonl scored.tsv
expect 2 $common --scored scored.tsv --temperature 0 --output o
stderr_has "temperature"
expect 2 $common --scored scored.tsv --best-by mse --dev dev.tsv --output o
stderr_has "teacher"
expect 1 $common --scored nowhere.tsv --output o
stderr_has "nowhere.tsv"
for kind in nli scored; do
  expect 1 $common --$kind $kind.tsv --lr 1e30 --clip 0 --output nan
  stderr_has "not finite at step"
  rm -rf nan.work
done
[ ! -e nan ] || fail "a model of no numbers"
absent o
finish
