# calque model new, info, check.
. "$(dirname "$0")/common.sh"

expect 0 model info "$TEACHER"
stdout_has "fingerprint"
stderr_is_empty
expect 0 model info --json "$TEACHER"
stdout_has '"fingerprint"'

# A copy is the same model; another is not.
expect 0 model new --kind copy --from "$TEACHER" copy
expect 0 model check "$TEACHER" copy --min-cosine 1
stdout_has "max difference       0"
expect 0 model check "$TEACHER" copy --json
stdout_has '"max_difference": 0,'
"$PROGRAM" model info "$TEACHER" | grep fingerprint >one
"$PROGRAM" model info copy | grep fingerprint >two
same one two
expect 1 model new --kind copy --from "$TEACHER" copy
stderr_has "exists"
expect 0 model new --kind copy --from "$TEACHER" --replace copy
printf 'First sentence.\nSecond sentence.\n' >sentences.txt
expect 0 model check "$TEACHER" copy sentences.txt
grep -q '^sentences  *2$' stdout || fail "the file's sentences are not what was compared"
expect_from sentences.txt 0 model check "$TEACHER" copy -

# Fresh models of every kind; the same seed gives the same model.
pairs 300 >text.tsv
text="--text text.tsv --vocab-size 80"
small="--dim 32 --layers 1 --heads 2 --feed-forward 64"
for kind in transformer bilstm static; do
  expect 0 model new --kind $kind $text $small fresh-$kind
  expect 0 model info fresh-$kind
  expect 0 similarity --model fresh-$kind "One." "Eins."
done
expect 0 model new --kind static $text $small again
expect 0 model check fresh-static again --min-cosine 1
expect 0 model new --kind static $text $small --seed 2 other
expect 1 model check fresh-static other --min-cosine 0.99999
stderr_has "the lowest cosine is"
expect 0 model new --kind new-vocabulary --from "$TEACHER" $text renewed
expect 0 model new --kind static --from "$TEACHER" $text static-of-teacher
stderr_has "carried over by word alignment"
for model in "$TEACHER" static-of-teacher; do
  grep -q 'models.Normalize"' "$model/modules.json" || fail "$model does not end with vectors of length 1"
done
expect 0 model new --from "$TEACHER" --carry-over focus $text by-neighbors
stderr_has "carried over by word alignment"
stderr_has "of the others by neighbors"
# A model that folds case says so when it is opened again, and what is made of it folds case.
expect 0 model new --from "$SOURCE/sample/teacher" $text lower
expect 0 model new --from lower --keep-case --vocab-size 90 --text text.tsv lower-again
stderr_has "the new vocabulary folds case"
for model in lower lower-again; do
  expect 0 model info $model
  grep -q '^  lowercase  *true$' stdout || fail "$model does not know that it folds case"
done
expect 0 similarity --model lower-again "One House." "one house."
stdout_has "1.0000"
expect 2 model new --kind bilstm --from "$TEACHER" $text out
stderr_has "starts from nothing"
expect 0 model info renewed

# Whole words: no more than the text has, known in any place, written as another program reads them.
for kind in transformer bilstm static; do
  expect 0 model new --kind $kind --vocabulary words $text $small words-$kind
  expect 0 model info --json words-$kind
  stdout_has '"WordLevel"'
  grep -q '"type": *"WordLevel"' "$(find words-$kind -name tokenizer.json)" || fail "no words in tokenizer.json"
done
expect 0 model new --kind static --vocabulary words $text $small words-again
expect 0 model check words-static words-again --min-cosine 1
expect 0 model new --kind copy --from words-bilstm words-copy
expect 0 model check words-bilstm words-copy --min-cosine 1
expect 0 model new --kind new-vocabulary --vocabulary words --from "$TEACHER" $text words-renewed
expect 0 encode --model words-renewed text.tsv
expect 0 model new --kind static --vocabulary bpe $text $small pieces-bpe
expect 2 model new --kind static --vocabulary pieces $text $small out
stderr_has "expected one of unigram, bpe, words"
printf '\xef\xbb\xbf\n \t\n' >blank.tsv
expect 1 model new --kind static --vocabulary words --text blank.tsv $small out
stderr_has "no word to make a vocabulary of"
expect 1 model check "$TEACHER" fresh-static
stderr_has "dimensions"

# Numbers that are none are null in JSON: with weights near the greatest float, the mean of a text has none.
weights=$(find fresh-static -name model.safetensors)
n=$((8 + $(head -c 8 "$weights" | od -An -t u8)))
{
  head -c $n "$weights"
  yes "$(printf '\xff\xff\x7f\x7f')" | tr -d '\n' | head -c $(($(stat -c %s "$weights") - n))
} >greatest
cat greatest >"$weights"
expect 1 model check fresh-static again --json
stdout_has '"max_difference": null, "mean_difference": null, '
stdout_has '"mean_cosine": null, "worst": "'
stderr_has "are not numbers"
finish
