# mpirun -n N calque encode, mine and index add: the bytes of one process for any number of ranks and threads; a rank
# that is killed, or has no room to write, and the command again with another number of ranks; ranks that are not about
# to do the same.
. "$(dirname "$0")/common.sh"
. "$SOURCE/tests/cli/ranks.sh"

cp -r "$SOURCE/sample/teacher" model
gzip -dc "$SOURCE/sample/train/en-de.tsv.gz" | head -n 1500 >pairs.tsv
cut -f1 pairs.tsv >en.txt
cut -f2 pairs.tsv | tac >de.txt
awk '{ print "en-" NR "\t" $0 }' en.txt >en.ids
awk '{ print "de-" NR "\t" $0 }' de.txt >de.ids
printf 'one line\r\n\r\nno end of line' >short.txt

# Two ranks, each with options of its own; they fail, and only rank $1 says why.
unlike() { # RANK MESSAGE OPTIONS-OF-0... : OPTIONS-OF-1...
  local rank=$1 message=$2 first=()
  shift 2
  while [ "$1" != : ]; do first+=("$1") && shift; done
  shift
  last="mpirun calque ${first[*]} : calque $*"
  timeout 60 mpirun -n 1 "$PROGRAM" "${first[@]}" : "${where[@]}" -n 1 "$PROGRAM" "$@" >stdout 2>stderr </dev/null &&
    fail "ranks that differ are no success"
  stderr_has "calque: rank $rank of 2 on $(uname -n): "
  stderr_has "$message"
  [ "$(grep -c '^calque: rank' stderr)" -eq 1 ] || fail "more than one rank tells"
}
where=()

# The same bytes, for 1 to 4 ranks with 1 and 2 threads.
new_index() { "$PROGRAM" index new -m "$PWD/model" "$1" 2>/dev/null || fail "no index $1"; }
same_index() { # all but the manifest, which has a number of its own for each index
  local file
  for file in "$1"/*-1; do same "$file" "$2/$(basename "$file")"; done
  [ "$(grep -vE '"(identity|check)"' "$1/manifest.json")" = "$(grep -vE '"(identity|check)"' "$2/manifest.json")" ] ||
    fail "the manifests of $1 and $2 differ"
}
for type in npy jsonl bin; do expect 0 encode -m model en.txt short.txt de.txt -o "alone.$type"; done
expect 0 encode -m model en.txt short.txt --output-type int8 -o alone-int8.npy
expect 0 mine -m model en.ids de.ids --text -o alone.tsv
expect 0 mine -m model en.txt -o alone-within.tsv
new_index alone.index
expect 0 index add alone.index --ids --passage-tokens 12 en.ids de.ids
for how in 1:2 2:1 2:2 3:2 4:1; do
  n=${how%:*} threads=${how#*:}
  for type in npy jsonl bin; do
    [ "$type" = npy ] || [ "$threads" -eq 1 ] || continue
    ranks "$n" 0 encode --replace -m model en.txt short.txt de.txt -t "$threads" -o "of.$type"
    same "alone.$type" "of.$type"
  done
  ranks "$n" 0 encode --replace -m model en.txt short.txt --output-type int8 -t "$threads" -o of-int8.npy
  same alone-int8.npy of-int8.npy
  ranks "$n" 0 mine --replace -m model en.ids de.ids --text -t "$threads" --cache "cache-$how" -o of.tsv
  same alone.tsv of.tsv
  [ "$threads" -eq 2 ] || ranks "$n" 0 mine --replace -m model en.txt -t 1 -o of-within.tsv
  [ ! -e of-within.tsv ] || same alone-within.tsv of-within.tsv
  rm -rf of.index
  new_index of.index
  ranks "$n" 0 index add of.index --ids --passage-tokens 12 -t "$threads" en.ids de.ids
  same_index alone.index of.index
  [ "$(grep -c 'calque: added' stderr)" -eq 1 ] || fail "not one rank tells: $(cat stderr)"
  absent of.npy.unfinished
done
expect 0 encode -m model de.txt -o de.npy
expect 0 encode -m model en.txt -o en.npy
expect 0 mine en.npy de.npy -o alone-vectors.tsv
ranks 3 0 mine en.npy de.npy -o of-vectors.tsv
same alone-vectors.tsv of-vectors.tsv
seq 1500 | awk '{ print "en-" $1 "\tde-" $1 }' >gold
awk '{ print "de-" 1501 - NR "\t" $0 }' de.txt >de.gold
expect 0 mine -m model en.ids de.gold --threshold-from gold -o alone-gold.tsv
ranks 2 0 mine -m model en.ids de.gold --threshold-from gold -o of-gold.tsv
same alone-gold.tsv of-gold.tsv

# What cannot be divided.
gzip -k en.txt
ranks 2 1 encode -m model en.txt.gz -o no.npy
stderr_has "en.txt.gz: cannot be divided: it is compressed (gzip)"
ranks 2 1 encode -m model -o no.npy
stderr_has "standard input cannot be divided"
ranks 2 1 encode -m model en.txt
stderr_has "name a file with --output"
: >empty.txt
ranks 2 1 encode -m model en.txt empty.txt -o no.npy
stderr_has "empty.txt: the file is empty"
printf 'good\nbad \xff\n' >bad.txt
ranks 3 1 encode -m model en.txt bad.txt -o no.npy
stderr_has "rank 0 of 3 on $(uname -n): bad.txt:2: not UTF-8"
ranks 3 1 mine -m model bad.txt en.txt -o no.tsv
stderr_has "bad.txt:2"
absent no.npy
absent no.tsv

# Ranks that differ end all, with one message that says which and where.
unlike 1 "rank 0 has normalize no, not yes" encode -m model en.txt -o no.npy : \
  encode -m model --normalize en.txt -o no.npy
cp -r model other
damage "$(find other -name '*.safetensors' | head -n 1)" 90000 4
unlike 1 "the model of fingerprint" encode -m model en.txt -o no.npy : encode -m other en.txt -o no.npy
unlike 1 "the model of fingerprint" mine -m model en.txt de.txt -o no.tsv : mine -m other en.txt de.txt -o no.tsv
unlike 1 "rank 0 has k 4, not 5" mine -m model en.txt de.txt -o no.tsv : mine -m model -k 5 en.txt de.txt -o no.tsv
new_index no.index
unlike 1 "passage-tokens" index add no.index --ids en.ids : index add no.index --ids --passage-tokens 9 en.ids
last="four ranks, of which rank 0 differs"
timeout 60 mpirun -n 1 "$PROGRAM" encode -m model --normalize en.txt -o no.npy : -n 3 "$PROGRAM" encode -m model en.txt -o no.npy \
  >stdout 2>stderr </dev/null && fail "ranks that differ are no success"
[ "$(grep 'calque:' stderr)" = "calque: rank 1 of 4 on $(uname -n): rank 0 has normalize yes, not no" ] ||
  fail "not one rank tells: $(grep 'calque:' stderr)"
mkdir elsewhere
where=(-wdir "$PWD/elsewhere")
for command in "encode -m model $PWD/en.txt -o $PWD/no.npy" "mine -m model $PWD/en.txt $PWD/de.txt -o $PWD/no.tsv" \
  "index add -m model $PWD/no.index --ids $PWD/en.ids"; do
  # shellcheck disable=SC2086
  unlike 1 "model" $command : $command # a rank without the model
done
head -n 40 de.txt >calibration.txt
head -n 80 de.txt >elsewhere/calibration.txt
int8=(encode -m "$PWD/model" "$PWD/en.txt" --output-type int8 --calibration calibration.txt -o "$PWD/no.npy")
unlike 1 "rank 0 has calibration with ranges of hash" "${int8[@]}" : "${int8[@]}"
where=()
absent no.npy
absent no.tsv

# A rank is killed; the rest is done by another number of ranks.
for _ in $(seq 20); do cat en.txt de.txt; done >long.txt
expect 0 encode -m model long.txt -o long-alone.npy
mpirun -n 2 "$PROGRAM" encode -m model long.txt -t 1 -o long.npy >/dev/null 2>&1 &
kill_rank $! long.npy.unfinished/done-0
[ ! -e long.npy ] || fail "there is an output of a command that was killed"
ranks 3 0 encode -m model long.txt -t 1 -o long.npy
stderr_has "calque: resuming: "
same long-alone.npy long.npy
absent long.npy.unfinished
# What was encoded with other ranges is not reused; with the same ranges it is.
head -n 30000 long.txt >half.txt
int8=(encode -m model half.txt --output-type int8 --calibration calibration.txt -t 1)
for contents in others same; do
  mpirun -n 2 "$PROGRAM" "${int8[@]}" -o int8.npy >/dev/null 2>&1 &
  kill_rank $! int8.npy.unfinished/done-0
  [ "$contents" = same ] || head -n 80 de.txt >calibration.txt
  ranks 2 0 "${int8[@]}" -o int8.npy
  if [ "$contents" = same ]; then
    stderr_has "calque: resuming: "
  else
    grep -q "resuming" stderr && fail "a run resumed with vectors encoded with other ranges"
    mv int8.npy int8-alone.npy
  fi
done
same int8-alone.npy int8.npy
expect 0 "${int8[@]}" -o int8-alone.npy --replace
same int8-alone.npy int8.npy
# Nothing is encoded before the ranges of all lines are kept. Rank 0 cannot keep them, and its message gets stuck, so
# that it does not end the other, which would note what it has encoded.
mkdir -p ranges.npy.unfinished/ranges.npy
mkfifo stuck
exec 9<>stuck
head -c 65536 /dev/zero >&9
last="encode to int8 by two ranks, of which rank 0 cannot keep the ranges"
int8=(encode -m model en.txt de.txt --output-type int8 -t 1 -o ranges.npy)
timeout -k 5 5 mpirun -n 1 bash -c 'exec "$@" 2>stuck' - "$PROGRAM" "${int8[@]}" : -n 1 "$PROGRAM" "${int8[@]}" \
  >stdout 2>stderr </dev/null
[ ! -e ranges.npy.unfinished/done-1 ] || fail "a rank has encoded before the ranges were kept"
exec 9>&-
mpirun -n 2 "$PROGRAM" mine -m model en.ids de.ids --text -t 1 --cache killed -o killed.tsv >/dev/null 2>&1 &
kill_rank $! killed
absent killed.tsv
ranks 3 0 mine -m model en.ids de.ids --text -t 1 --cache killed -o killed.tsv
same alone.tsv killed.tsv
new_index killed.index
mpirun -n 2 "$PROGRAM" index add killed.index --ids --passage-tokens 12 -t 1 en.ids de.ids >/dev/null 2>&1 &
kill_rank $! killed.index/lock
ranks 3 0 index add killed.index --ids --passage-tokens 12 -t 1 en.ids de.ids
same_index alone.index killed.index

# No room for what a rank writes.
last="encode, a rank with room for 64 KiB"
timeout 60 mpirun -n 1 "$PROGRAM" encode -m model en.txt short.txt de.txt -o full.npy : -n 1 bash -c \
  'ulimit -f 64; exec "$@"' - "$PROGRAM" encode -m model en.txt short.txt de.txt -o full.npy >stdout 2>stderr </dev/null &&
  fail "a rank without room is no success"
stderr_has "calque: rank 1 of 2 on $(uname -n): full.npy: cannot write: File too large"
[ ! -e full.npy ] || fail "an output that is not whole is at its place"
ranks 2 0 encode -m model en.txt short.txt de.txt -o full.npy
same alone.npy full.npy
for command in "mine -m model en.ids de.ids --cache full-cache -o full.tsv" "index add full.index --ids en.ids de.ids"; do
  last="$command, rank 0 with room for 64 KiB"
  [ -e full.index ] || new_index full.index
  # shellcheck disable=SC2086
  timeout 60 mpirun -n 1 bash -c 'ulimit -f 64; exec "$@"' - "$PROGRAM" $command : -n 1 "$PROGRAM" $command \
    >stdout 2>stderr </dev/null && fail "a rank without room is no success"
  stderr_has "calque: rank 0 of 2 on $(uname -n): "
  stderr_has "File too large"
done
[ ! -e full.tsv ] || fail "pairs that are not whole are at their place"

finish
