# Files that calque has written itself, with some bytes changed on disk: whatever it reads back is as it was, or it says
# what is damaged.
. "$(dirname "$0")/common.sh"

TEACHER=$SOURCE/sample/teacher
gzip -dc "$SOURCE/sample/test/en-de.tsv.gz" | cut -f 1 | awk '!seen[$0]++' | head -n 120 >all.txt
head -n 80 all.txt >source.txt
tail -n 80 all.txt >target.txt

# places FILE N: N places spread over it
places() { awk -v size="$(wc -c <"$1")" -v n="$2" 'BEGIN { for (i = 0; i < n; i++) print int(size * (i + 0.37) / n) }'; }

# The vector cache: what is damaged is computed again.
mine="mine --model $TEACHER --cache cache source.txt target.txt"
expect 0 $mine
cp stdout pairs
expect 0 cache check --cache cache
stdout_has "cache/$(cd cache && echo vectors/*): $(sort -u source.txt target.txt | wc -l), nothing is damaged"
cp -r cache sound
expect 0 cache info --cache cache
stdout_has "cache/$(cd cache && echo vectors/*)"
grep -q "^[1-9][0-9]*	2[0-9-]*	cache/vectors/" stdout || fail "no bytes and date"
stderr_has "1 parts, "
expect 0 cache clear --cache cache --days 1
stderr_has "0 parts removed"
mkdir -p cache/folders # of a folder that cannot be written to
expect 0 index new cache/folders/%read%only --model "$TEACHER"
expect 0 cache info --cache cache
stdout_has "cache/folders/%read%only"
stderr_has "2 parts, "
expect 0 cache clear --cache cache
stderr_has "2 parts removed"
[ -z "$(ls cache/vectors cache/folders | grep -v :)" ] || fail "vectors or indexes are left"
expect 0 cache info --cache cache
stderr_has "0 parts"
expect 0 cache info --cache no-such-cache
rm -rf cache
cp -r sound cache
store=$(cd sound && echo vectors/*)
for file in keys vectors; do
  for at in $(places "sound/$store/$file" 12); do
    rm -rf cache
    cp -r sound cache
    damage "cache/$store/$file" "$at" 1
    expect 1 cache check --cache cache
    stdout_has "cache/$store: "
    expect 0 $mine
    cmp -s stdout pairs || fail "damage at $at of $file changes what is found"
    stderr_has "cache/$store/vectors is damaged: "
    expect 0 $mine
    cmp -s stdout pairs || fail "what was computed again is something else"
  done
done

# What cannot be looked through is an error, not soundness.
rm -rf cache
cp -r sound cache
mkdir -p cache/searches/none
expect 1 cache check --cache cache
stderr_has "cache/searches/none"
rmdir cache/searches/none
rm "cache/$store/keys"
mkdir "cache/$store/keys"
expect 1 cache check --cache cache
stderr_has "cache/$store/keys"

# An index: whatever is damaged is named, in a search that needs it and by `index check`.
awk '{ print "a" NR "\t" $0 }' all.txt >all.ids
expect 0 index new --model "$TEACHER" news
expect 0 index add news --ids all.ids
expect 0 index remove news a3 a50
question="A question about the weather."
expect 0 search news "$question" --top 200 --ranking dense
cp stdout exact
lines_are exact 118
expect 0 index check news
stdout_has "news: 118 documents, nothing is damaged"
# noticed FILE PLACES FINE SEARCH-OPTION...: with any of these places of a file changed, `index check` fails and names it;
# so does a search, unless it has no need of it (the vector of a removed document, say), which is so for FINE at most.
noticed() {
  local file=$1 n=$2 at n_fine=0 most=$3
  shift 3
  rm -rf sound.index
  cp -r news sound.index
  for at in $(places "news/$file" "$n"); do
    rm -rf news
    cp -r sound.index news
    damage "news/$file" "$at"
    last="search news, $file changed at $at"
    if "$PROGRAM" search news "$question" --top 200 --ranking dense "$@" >stdout 2>stderr; then
      same stdout exact
      n_fine=$((n_fine + 1))
    else
      stdout_is_empty
      stderr_has "news/"
    fi
    expect 1 index check news
    stderr_has "news/"
  done
  [ "$n_fine" -le "$most" ] || fail "$n_fine of $n searches had no need of what is damaged"
  rm -rf news
  mv sound.index news
}
noticed passages-1 20 2
noticed vectors-1 20 2
noticed checks-1 20 2
noticed deleted-1 8 0
noticed manifest.json 20 2
noticed words-1 40 40 # no need of it: a search by meaning
# Any bit of the documents: an error that names the file, or the same result. Rows that a filter, a language or an id
# selects do not go missing.
cp -r news kept.index
mv news sound.index
for i in $(seq 300); do printf '{"id": "n%d", "text": "Number %d.", "language": "%s", "n": %d}\n' "$i" "$i" \
  "$([ $((i % 2)) -eq 0 ] && echo de || echo en)" "$i"; done >numbers.jsonl
expect 0 index add sound.index numbers.jsonl
head -150 numbers.jsonl >again.jsonl
german="search news number --language de --top 1000 --ranking dense"
filtered="search news number --filter n<=150 --top 1000 --ranking dense"
rm -rf news && cp -r sound.index news
expect 0 $german && cp stdout german && lines_are german 150
expect 0 $filtered && cp stdout filtered && lines_are filtered 150
size=$(wc -c <news/documents-1)
for ((page = 0; page < size / 4096; page++)); do
  at=$((page * 4096 + page * 997 % 4096))
  rm -rf news
  cp -r sound.index news
  damage news/documents-1 "$at"
  last="documents-1 changed at $at"
  fails=0
  for search in german filtered; do
    if "$PROGRAM" ${!search} >stdout 2>stderr; then
      same stdout $search
    else
      stdout_is_empty
      stderr_has "news/documents-1: page $((page + 1)) (bytes $((page * 4096)) to "
      fails=1
    fi
  done
  if "$PROGRAM" index check news >stdout 2>stderr; then
    [ "$fails" -eq 0 ] || fail "'index check' does not see the damage that a search sees"
  else
    stderr_has "news/documents-1: page $((page + 1)) "
  fi
  if "$PROGRAM" index add news again.jsonl >stdout 2>stderr; then
    stderr_has "(150 replaced), the index has 418"
  else
    stderr_has "news/documents-1: page $((page + 1)) "
  fi
done
rm -rf news sound.index
mv kept.index news
# A search by words reads the postings of its words.
expect 0 search news "the weather and the food" --ranking words --top 200
cp stdout by-words
cp -r news sound.index
n_fine=0
for at in $(places news/words-1 40); do
  rm -rf news
  cp -r sound.index news
  damage news/words-1 "$at"
  last="search news by words, words-1 changed at $at"
  if "$PROGRAM" search news "the weather and the food" --ranking words --top 200 >stdout 2>stderr; then
    same stdout by-words
    n_fine=$((n_fine + 1))
  else
    stdout_is_empty
    stderr_has "news/words-1: it is damaged"
  fi
done
[ "$n_fine" -lt 20 ] || fail "$n_fine of 40 searches by words had no need of what is damaged"
rm -rf news
mv sound.index news
# A search by an approximation reads only some of the vectors.
if "$PROGRAM" index approximate news --method hnsw 2>stderr; then
  noticed approximate-1 20 2
  cp -r news damaged
  damage damaged/approximate-1 1000
  expect 1 search damaged "$question"
  stderr_has "damaged/approximate-1: it is damaged"
  expect 0 search damaged "$question" --exact --top 200 --ranking dense
  same stdout exact
  expect 0 index approximate damaged --method hnsw
  expect 0 index check damaged
  rm -rf damaged
else
  echo "skipped: built without FAISS"
fi
# The lexical index: everything but postings when it is opened, postings when a query reads them.
expect 0 lexical build words --language en all.ids
expect 0 lexical search words "the weather and the food" --top 200
cp stdout by-words
cp -r words sound.words
n_fine=0
for at in $(places words/segment-1 60); do
  rm -rf words
  cp -r sound.words words
  damage words/segment-1 "$at"
  last="lexical search words, segment-1 changed at $at"
  if "$PROGRAM" lexical search words "the weather and the food" --top 200 >stdout 2>stderr; then
    same stdout by-words
    n_fine=$((n_fine + 1))
  else
    stdout_is_empty
    stderr_has "segment-1"
  fi
done
[ "$n_fine" -lt 30 ] || fail "$n_fine of 60 searches had no need of what is damaged"
# One segment of several: the next ones do not make up for it.
expect 0 lexical build parts --language en --segment-documents 40 all.ids
expect 0 lexical search parts "the weather and the food" --top 200
damage parts/segment-1 20 4
expect 1 lexical search parts "the weather and the food" --top 200
stderr_has "parts/segment-1"

damage news/vectors-1 $((70 * 4 * 128 + 5))
expect 1 search news "$question" --top 200
stderr_has "news/vectors-1: the vector of record 70 (bytes 35840 to 36351) is damaged"
expect 1 index approximate news --method ivf
stderr_has "record 70"
finish
