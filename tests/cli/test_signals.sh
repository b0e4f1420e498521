# SIGINT, SIGTERM and SIGHUP: nothing temporary is left, the exit code is 128 + n, and training resumes where it was.
# SIGPIPE is a failed write.
. "$(dirname "$0")/common.sh"

TEACHER=$SOURCE/sample/teacher
gzip -dc "$SOURCE/sample/train/en-de.tsv.gz" >pairs.tsv
for ((i = 0; i < 40; i++)); do cut -f 1 pairs.tsv; done >many.txt
head -n 500 pairs.tsv >few.tsv # whose vectors the teacher has at once, on slow machines too

# ends SIGNAL NUMBER FILE COMMAND...: the program, sent the signal as soon as there is a FILE.
ends() {
  local signal=$1 number=$2 file=$3 pid code
  shift 3
  last="calque $* and SIG$signal"
  # (a shell ignores SIGINT for what it puts in the background)
  env --default-signal=INT "$PROGRAM" "$@" >stdout 2>stderr </dev/null &
  pid=$!
  for ((i = 0; i < 1000; i++)); do
    compgen -G "$file" >/dev/null && break
    sleep 0.01
  done
  kill -"$signal" "$pid"
  wait "$pid"
  code=$?
  [ "$code" -eq $((128 + number)) ] || fail "exit code $code, expected $((128 + number))"
  compgen -G '*.tmp-*' && fail "a temporary file is left"
}
n=1
for signal in HUP INT TERM; do
  case $signal in HUP) number=1 ;; INT) number=2 ;; TERM) number=15 ;; esac
  ends $signal $number 'out.npy.tmp-*' encode --model "$TEACHER" --output out.npy --batch 8 many.txt
  [ ! -e out.npy ] || fail "it was finished before the signal"
  ends $signal $number 'news.tmp-*' lexical build news --language en --segment-documents 20 <(awk '{ print NR "\t" $0 }' many.txt)
  ends $signal $number run$n.work/log.jsonl distill --teacher "$TEACHER" --student "$TEACHER" --train few.tsv \
    --cache cache --output run$n --batch 4 --steps 1000000
  stderr_has "--resume"
  [ -s run$n.work/checkpoint ] || fail "no checkpoint was written"
  n=$((n + 1))
done

# A killed command leaves its file, which the next writer of the same output removes, whatever the format.
ends TERM 15 'out.jsonl.tmp-*' encode --model "$TEACHER" --output out.jsonl --batch 8 many.txt
head -n 20 many.txt >some.txt
for name in out.npy out.jsonl out.bin; do
  "$PROGRAM" encode --model "$TEACHER" --output $name --batch 8 many.txt 2>/dev/null &
  killed=$!
  for ((i = 0; i < 1000; i++)); do
    compgen -G "$name.tmp-*" >/dev/null && break
    sleep 0.01
  done
  kill -KILL $killed
  wait $killed 2>/dev/null
  compgen -G "$name.tmp-$killed-*" >/dev/null || fail "$name: was not being written"
  touch $name.tmp-$$-0
  expect 0 encode --model "$TEACHER" --output $name some.txt
  ! compgen -G "$name.tmp-$killed-*" || fail "$name: what a killed process left is still there"
  rm $name.tmp-$$-0 || fail "$name: what a living process writes is gone"
done
printf 'A cat.\n' >cat.txt
touch pairs-out.tsv.tmp-$killed-0
expect 0 mine --model "$TEACHER" --cache cache cat.txt cat.txt -o pairs-out.tsv
[ ! -e pairs-out.tsv.tmp-$killed-0 ] || fail "mine: what a killed process left is still there"

# Commands on rows stop between two of them.
yes "A house." | head -n 3000000 >long.tsv
paste long.tsv long.tsv >wide.tsv
printf 'house\tHaus\n' >words.tsv
for command in "sample --rows 5" "dedup" "filter --max-characters 50" "gloss --dictionary words.tsv" "inflect --text words.tsv" \
  "transliterate --text words.tsv"; do
  last="calque data $command and SIGINT"
  env --default-signal=INT "$PROGRAM" data $command wide.tsv -o rows.tsv >stdout 2>stderr </dev/null &
  pid=$!
  sleep 0.1
  kill -INT "$pid"
  wait "$pid"
  code=$?
  [ "$code" -eq 130 ] || fail "exit code $code, expected 130"
  [ ! -e rows.tsv ] || fail "it was finished before the signal"
  absent rows.tsv
done
rm long.tsv wide.tsv

# What a parent ignores stays ignored, as nohup wants it.
head -n 4000 many.txt >some.txt
(trap '' HUP && exec "$PROGRAM" encode --model "$TEACHER" --output kept.npy some.txt) &
pid=$!
for ((i = 0; i < 1000; i++)); do
  compgen -G 'kept.npy.tmp-*' >/dev/null && break
  sleep 0.01
done
kill -HUP "$pid" && wait "$pid" || fail "SIGHUP ended a program that was to ignore it"
[ -s kept.npy ] || fail "its output is missing"

# A reader that has seen enough ends a command with exit code 1, not by SIGPIPE, and without a word.
last="calque encode | head -c 1"
head -n 500 many.txt >some.txt
env --default-signal=PIPE "$PROGRAM" encode --model "$TEACHER" some.txt 2>stderr | head -c 1 >/dev/null
code=${PIPESTATUS[0]}
[ "$code" -eq 1 ] || fail "exit code $code, expected 1"
stderr_is_empty

# A FIFO in a model's place is refused, not waited for.
cp -r "$TEACHER" piped
rm piped/config.json
mkfifo piped/config.json
expect 1 model info piped
stderr_has "piped/config.json"
finish
