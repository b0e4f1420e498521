# docs/formats.md says enough to read calque's own files: reference/read_formats.py, which knows nothing else, reads
# what the program writes, and finds a changed byte.
. "$(dirname "$0")/common.sh"
. "$SOURCE/tests/cli/made_up.sh"

if ! ${PYTHON:-python3} -c 'import ctypes, sqlite3' 2>/dev/null; then
  echo "skipped: no Python with ctypes and SQLite"
  exit 0
fi
reads() { # PATH TEXT
  last="read_formats.py $1"
  ${PYTHON:-python3} "$SOURCE/reference/read_formats.py" "$1" >stdout 2>stderr || fail "exit code $?"
  stdout_has "$2"
}
refuses() { # PATH TEXT
  last="read_formats.py $1"
  ! ${PYTHON:-python3} "$SOURCE/reference/read_formats.py" "$1" >stdout 2>stderr || fail "it is read"
  stderr_has "$2"
}

made_up 400 >three.tsv
cut -f 1,2 three.tsv | LC_ALL=C sort -u >pairs.tsv
cut -f 1 pairs.tsv | sort -u >a.txt
cut -f 2 pairs.tsv | sort -u >b.txt

# vectors of text
expect 0 mine --model "$TEACHER" --cache cache a.txt b.txt
cache=$(echo cache/vectors/*)
TEXTS=a.txt reads "$cache" "$(wc -l <a.txt) of $(wc -l <a.txt) lines of a.txt are in it"

# an index: added to, removed from, approximated
expect 0 index new --model "$TEACHER" news.index
reads news.index "0 of 0 documents are live"
awk '{ print "a" NR "\t" $0 }' a.txt >a.ids
expect 0 index add news.index --ids --language en a.ids
expect 0 index remove news.index a2 a9
head -5 a.ids >again.ids
expect 0 index add news.index --ids again.ids
reads news.index "calque index 4, $(($(wc -l <a.ids) - 1)) of $(($(wc -l <a.ids) + 5)) documents are live"
cp -r news.index compact.index
expect 0 index compact compact.index
n=$(($(wc -l <a.ids) - 1))
reads compact.index "calque index 4, $n of $n documents are live, $n records"
# hubness, which the compacted index has nothing deleted beside
head -20 b.txt >asked.txt
expect 0 index hubness compact.index --queries asked.txt --neighbors 3
reads compact.index "hubness by 20 queries"
damage compact.index/hubness-1 $((5 * 8 + 1))
refuses compact.index "the hubness of record 5: the check does not agree"
expect 0 index hubness news.index --sample 7
reads news.index "hubness by 7 queries"
cp -r news.index changed.index
damage changed.index/queries-1 100
refuses changed.index "queries-1: the check does not agree"
rm -r changed.index
if "$PROGRAM" index approximate news.index --method ivf 2>/dev/null; then
  reads news.index "FAISS's IwSq covers the first"
  expect 0 index approximate news.index --method hnsw
  reads news.index "FAISS's IHNs covers the first"
else
  echo "skipped: built without FAISS"
fi
# fields, and a document of several passages
awk 'BEGIN {
  printf "{\"_id\": \"1\", \"title\": \"Cats\", \"url\": \"https://example.org/\", \"year\": 2021, "
  print "\"text\": \"A cat sleeps.\"}"
  printf "{\"_id\": \"2\", \"language\": \"en\", \"text\": \""
  for (i = 0; i < 40; i++) printf "The sentence of number %d is about a dog. ", i
  print "\"}"
}' >fields.jsonl
expect 0 index new --model "$TEACHER" fields.index
expect 0 index add fields.index fields.jsonl
reads fields.index "calque index 4, 2 of 2 documents are live, "
! grep -q " 2 records" stdout || fail "the long document is one passage"
# one byte of each kind of file
refuses_changed() { # FILE OFFSET TEXT
  rm -rf changed.index
  cp -r news.index changed.index
  damage "changed.index/$1" "$2"
  refuses changed.index "$3"
}
refuses_changed passages-1 $((7 * 16 + 9)) "the passage of record 7: the check does not agree"
refuses_changed vectors-1 $(($(wc -c <news.index/vectors-1) / 2)) "the check does not agree"
refuses_changed checks-1 $((3 * 16 + 2)) "the vector of record 3: the check does not agree"
refuses_changed documents-1 9000 "documents-1: page 3: the check does not agree"
refuses_changed documents-1 20 "of which 8 are reserved"
deleted=$(cd news.index && echo deleted-*)
refuses_changed "$deleted" 0 "$deleted: the check does not agree"
cp -r news.index changed.manifest
sed -i 's/"last_words": /&1/' changed.manifest/manifest.json
refuses changed.manifest "the manifest: the check does not agree"
truncate -s $(($(wc -c <news.index/vectors-1) - 1)) news.index/vectors-1
refuses news.index "vectors-1 is shorter than the manifest says"

# a lexical index of several segments, with blocks and rests
awk '{ for (i = 0; i < 4; i++) print NR "-" i "\t" $0 }' three.tsv | cut -f 1,2 >documents.tsv
expect 0 lexical build words.lexical --language en documents.tsv
reads words.lexical "1600 documents"
expect 0 lexical build parts.lexical --segment-documents 500 documents.tsv
reads parts.lexical "parts.lexical/segment-4"
damage words.lexical/segment-1 150
refuses words.lexical "the check does not agree"

# a training's checkpoint
"$PROGRAM" distill --teacher "$TEACHER" --student "$TEACHER" --train pairs.tsv --steps 1000000 --batch 4 --cache cache \
  --checkpoint-every 2 --evaluate-every 2 --average 1000000 --output run >log 2>&1 &
pid=$!
for ((i = 0; i < 600; i++)); do [ ! -e run.work/checkpoint ] || break; sleep 0.1; done
kill "$pid"
wait "$pid"
reads run.work "a checkpoint of"
stdout_has "adam.m"
stdout_has "  average  "
stdout_has "the first: 'command\tdistill'"
damage run.work/checkpoint $(($(wc -c <run.work/checkpoint) / 2))
refuses run.work "Wrong: "

# autoencoders and trials; a state of words
expect 0 autoencode search trials a,b=pairs.tsv --dev a,b=pairs.tsv --trials 2 --rungs 1 --together 1 \
  --vocabulary words --latent 8 --hidden 8 --embedding 8 --range lr=1e-3:1e-2
reads trials "trials: 2 trials"
best=$(sed -n '3s/^| \([a-z0-9.-]*\) .*/\1/p' trials/table.md)
reads "trials/$best" "autoencoders of a, b"
tr '\t' '\n' <pairs.tsv >corpus.txt
expect 0 words train corpus.txt vectors.txt --dim 8 --epochs 1 --min-count 1 --state state
reads state.vocab "state: a state of 20 words, 8 dimensions"

# a classifier of pairs
head -n 100 a.txt | awk '{ print "a" NR "\t" $0 >"few.a"; print "b" NR "\t" $0 >"few.b" } NR % 2 { print "a" NR "\tb" NR }' >few.gold
expect 0 mine --model "$TEACHER" --cache cache few.a few.b --learn-from few.gold --save-classifier classifier.json
reads classifier.json "classifier.json: a classifier of pairs, "
finish
