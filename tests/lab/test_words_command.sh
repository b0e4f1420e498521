# calque words: train, nearest, loss.
. "$(dirname "$0")/../cli/common.sh"

# Words of two topics, never in one line; and a word that comes but once, alone.
awk 'BEGIN {
  x = 1; n = split("mill river water boat bank bridge", a); split("bread oven flour dough salt crust", b)
  for (i = 0; i < 160; i++) {
    for (k = 0; k < 10; k++) { x = x * 16807 % 2147483647; printf "%s ", i % 2 ? a[x % n + 1] : b[x % n + 1] }
    print i == 7 ? "\nonce" : ""
  }
}' >corpus.txt
base="--lr 0.05 --sample 0" one_thread="$base --dim 16 --threads 1" train="$one_thread --epochs 20"

expect 0 words train corpus.txt vectors.txt $train
stdout_is_empty
stderr_has "13 words of 16 dimensions; 32020 words read in "
lines_are vectors.txt 14
[ "$(head -n 1 vectors.txt)" = "13 16" ] || fail "the first line is not how many words and dimensions"
expect 0 words train corpus.txt again.txt $train
same vectors.txt again.txt
gzip -c corpus.txt >corpus.gz
expect 0 words train corpus.gz again.txt $train
same vectors.txt again.txt
expect_from corpus.txt 0 words train - again.txt $train
same vectors.txt again.txt
expect 0 words train corpus.txt again.txt $train --seed 2
cmp -s vectors.txt again.txt && fail "another seed gives the same vectors"
for way in --cbow --share-negatives "--min-ngram 3 --max-ngram 4 --buckets 500" "--min-count 2"; do
  expect 0 words train corpus.txt other.txt $train $way
  cmp -s vectors.txt other.txt && fail "$way changes nothing"
done
expect 0 words train corpus.txt other.txt $base --threads 3
[ "$(head -n 1 other.txt)" = "13 100" ] || fail "a hundred dimensions are the default"
expect 0 words train corpus.txt rare.txt $train --min-count 2
lines_are rare.txt 13
grep -q "^once " rare.txt && fail "a rare word was not left out"

# Neighbors: of the same topic, best first, not the word itself.
expect 0 words nearest vectors.txt mill oven --top 5
lines_are stdout 10
for word in river water boat bank bridge; do grep -q "^mill	0\.[0-9]*	$word\$" stdout || fail "$word is not near mill"; done
for word in bread flour dough salt crust; do grep -q "^oven	0\.[0-9]*	$word\$" stdout || fail "$word is not near oven"; done
head -n 5 stdout | cut -f 2 | sort -r -c || fail "neighbors are not in order"
expect 0 words nearest vectors.txt mill --top 100
lines_are stdout 12
expect 0 words nearest vectors.txt unheard
stdout_is_empty
stderr_has "there is no word 'unheard'"
printf '3 2\na 1 0\nb 0.6 0.8\nc -2 0\n' >known.txt
expect 0 words nearest known.txt a
printf 'a\t0.6000\tb\na\t-1.0000\tc\n' >want
same stdout want

# The loss falls with training, and does not depend on threads.
expect 0 words train corpus.txt one.txt $one_thread --epochs 1 --state one
expect 0 words train corpus.txt many.txt $one_thread --epochs 40 --state many
for end in in.npy out.npy vocab; do [ -s "many.$end" ] || fail "there is no many.$end"; done
[ "$(head -n 1 many.vocab | cut -f 2)" -ge "$(tail -n 1 many.vocab | cut -f 2)" ] || fail "the vocabulary is not in order"
expect 0 words loss corpus.txt one many --sample 0 --threads 1
cp stdout losses
lines_are losses 2
awk -F '\t' 'NR == 1 { one = $2 } NR == 2 { exit !($1 == "many" && $2 < one && $2 > 0) }' losses || fail "the loss does not fall"
expect 0 words loss corpus.gz one many --sample 0 --threads 3
same stdout losses

# What is refused.
expect 2 words train corpus.txt
expect 2 words train corpus.txt vectors.txt --dim 0
expect 2 words train corpus.txt vectors.txt --negative 64
expect 2 words nearest vectors.txt
expect 2 words loss corpus.txt
expect 1 words train nowhere refused.txt
stderr_has "nowhere"
: >empty
expect 1 words train empty refused.txt
stderr_has "the corpus has no words"
expect 1 words train corpus.txt refused.txt --min-count 1000000
expect 1 words train corpus.txt refused.txt --lr 0.01 --min-lr 0.1
stderr_has "the learning rate goes from 0.01 to 0.1, expected one that falls"
expect 1 words train corpus.txt refused.txt --max-ngram 4
stderr_has "subwords of 0 to 4 characters"
printf 'a b\n\377\n' >bad.txt
expect 1 words train bad.txt refused.txt
stderr_has "bad.txt:2: "
absent refused.txt
expect 1 words train corpus.txt nowhere/vectors.txt --epochs 1
expect 1 words nearest nowhere mill
expect 1 words nearest corpus.txt mill
stderr_has "corpus.txt:1: expected how many words and dimensions"
printf '2 2\na 1 2\n' >short.txt
expect 1 words nearest short.txt a
stderr_has "1 words, expected 2"
expect 1 words loss corpus.txt nowhere
stderr_has "nowhere.vocab"
cp one.vocab mixed.vocab && cp one.in.npy mixed.in.npy
expect 0 words train corpus.txt wide.txt $base --dim 8 --epochs 1 --state wide
cp wide.out.npy mixed.out.npy
expect 1 words loss corpus.txt mixed
stderr_has "mixed.out.npy"
finish
