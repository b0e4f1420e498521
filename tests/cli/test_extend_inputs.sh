# The text that calque extend is given: pipes, dictionaries that are none, columns that are swapped.
. "$(dirname "$0")/common.sh"

sample=$SOURCE/sample
# Runs a training of a few steps, which may have won something (0) or not (3).
trained() {
  last="calque $*"
  "$PROGRAM" "$@" >stdout 2>stderr </dev/null
  local code=$?
  [ $code -eq 0 ] || [ $code -eq 3 ] || fail "exit code $code, expected 0 or 3"
}
gzip -dc "$sample/train/en-de.tsv.gz" | head -n 200 >de.tsv
cut -f 1 de.tsv | tr -s ' .,?!' '\n' | sort -u | awk 'NR % 2 == 0 { print $1 "\twort" NR }' >words.tsv
start="extend $sample/teacher --vocab-size 400 --cache cache"
run="$start --steps 3"

# Pipes are read as files are, all of them several times.
cut -f 1 de.tsv >en.txt
trained $run --to de=de.tsv --dictionary de=words.tsv --text en.txt --dev dev=de.tsv --gloss-share 0.3 --output files
stderr_has "glosses in addition to translations of de: 0.3 of the pairs drawn"
trained $run --to de=<(gzip -c de.tsv) --dictionary de=<(cat words.tsv) --text <(cat en.txt) --dev dev=<(cat de.tsv) \
  --gloss-share 0.3 --output pipes
same files/model.safetensors pipes/model.safetensors
[ ! -e pipes.extend ] || fail "work in progress was left behind"
# A run of pipes is resumed without them, by other names.
exec 9< <(cat de.tsv)
"$PROGRAM" $start --to /dev/fd/9 --steps 100 --output resumed >log 2>&1 &
pid=$!
while kill -0 "$pid" 2>/dev/null && [ ! -e resumed.work/checkpoint ]; do sleep 0.05; done
kill "$pid" 2>/dev/null
wait "$pid"
exec 9<&-
trained $start --to <(:) --steps 100 --resume --threads 2 --output resumed

# What a dictionary has is said; one whose columns are not separated by tabs is none.
trained $run --to de=de.tsv --dictionary de=words.tsv --output beside
stderr_has "dictionary of de: $(wc -l <words.tsv) words, $(wc -l <words.tsv) translations, 0 malformed skipped (--dictionary)"
tr '\t' ' ' <words.tsv >blanks.txt
expect 1 $run --to de=de.tsv --dictionary de=blanks.txt --output none
stderr_has "blanks.txt:1: "
{ cat words.tsv; echo nothing; } >one_bad.tsv
expect 1 $run --to de=de.tsv --dictionary de=one_bad.tsv --output none
stderr_has "one_bad.tsv:$(wc -l <one_bad.tsv): "
trained $run --to de=de.tsv --dictionary de=one_bad.tsv --skip-bad --output skipped
stderr_has "1 malformed skipped (--dictionary)"
[ ! -e none.extend ] || fail "work in progress was left behind"

# Swapped columns are reported before the vocabulary is made, those of a dictionary, too.
said_before_student() { sed '/^student: /q' stderr | grep -q "$1: the first column does not look like the teacher's language"; }
awk -F '\t' '{ print $2 "\t" $1 }' de.tsv >swapped.tsv
trained $run --to de=swapped.tsv --output swapped
said_before_student de || fail "swapped columns are reported too late"
gzip -dc "$sample/train/en-ru.tsv.gz" | awk -F '\t' '{ split($2, a, " "); split($1, b, " "); print a[1] "\t" b[1] }' | sort -u >ru.dict.tsv
gzip -dc "$sample/train/en-ru.tsv.gz" | head -n 200 >ru.tsv
trained $run --to ru=ru.tsv --dictionary ru=ru.dict.tsv --output swapped_words
said_before_student ru || fail "a swapped dictionary is not reported"

# What cannot be meant: text of a language that has nothing else, a dictionary as translations, a dev set that is trained on,
# a language's name for its code. A dev set that is not there is missed before the student is made.
expect 2 $run --to de=de.tsv --text fr=en.txt --output none
stderr_has "en.txt: text of 'fr', which has neither translations nor a dictionary"
trained $run --to german=words.tsv --dev dev=words.tsv --output odd
stderr_has "german: no code of a language, as de or hi"
stderr_has "german: 100 % of the sources are one word: is words.tsv a dictionary (--dictionary)?"
stderr_has "sources of the dev sets are trained on: the figures will be too good (--dev)"
expect 1 $run --to de=de.tsv --dev nowhere.tsv --output none
stderr_has "nowhere.tsv"
! grep -q "^student: " stderr || fail "a dev set is missed too late"
trained $run --to de=de.tsv --time 1s --lr 0.5 --output both
stderr_has "steps: 3, as given, whatever the time (--steps)"
# A file without a language is known by its name, in the card, too.
trained $run --to de.tsv --output unnamed
stderr_has "de: 200 sources"
! grep -q extend/ unnamed/README.md || fail "the card names a file that is gone"
finish
