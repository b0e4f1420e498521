# docs/formats.md says enough to read calque's own files: reference/read_formats.py, which knows nothing else, reads
# what the program writes, and finds a changed byte.
. "$(dirname "$0")/common.sh"
. "$SOURCE/tests/cli/made_up.sh"

if ! ${PYTHON:-python3} -c 'import numpy' 2>/dev/null; then
  echo "skipped: no Python with NumPy"
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
reads news.index "calque index 2, $(($(wc -l <a.ids) - 1)) of $(($(wc -l <a.ids) + 5)) documents are live"
if "$PROGRAM" index approximate news.index --method ivf 2>/dev/null; then
  reads news.index "FAISS's IwSq covers the first"
  expect 0 index approximate news.index --method hnsw
  reads news.index "FAISS's IHNs covers the first"
else
  echo "skipped: built without FAISS"
fi
truncate -s -1 news.index/documents
refuses news.index "documents are shorter than the manifest says"

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
finish
