# calque index and search: adding, replacing, removing, filters, kills, full disks.
. "$(dirname "$0")/common.sh"

TEACHER=$SOURCE/sample/teacher
printf 'Anna reads a book in the garden.\nThe train to Vienna is late.\nTwo dogs play by the river.\n' >en.txt
printf 'x1\tThe bus to Vienna is late.\nx2\tA cat sleeps on the chair.\n' >more.tsv

expect 0 index new --model "$TEACHER" an.index
expect 0 index info an.index
stdout_has "documents   0"
expect 0 search an.index "a train"
stdout_is_empty
expect 0 index add an.index --language en en.txt
stderr_has "added 3 documents, the index has 3"
expect 0 index add an.index --ids --language xx more.tsv
expect 0 search an.index "The train to Vienna is late." --top 2 --ranking dense
stdout_has "1.0000	en.txt:2	en	The train to Vienna is late."
lines_are stdout 2
expect 0 search an.index "The train to Vienna is late." --language xx --top 9
lines_are stdout 2
head -n 1 stdout | grep -q "x1	xx" || fail "x1 should come first among xx"
expect 0 search an.index --json "dogs" "a book" --top 1
lines_are stdout 2
stdout_has '"rank": 1'
for n in 1 3; do
  expect 0 search an.index "dogs by a river" --threads $n
  cp stdout "by-$n"
done
same by-1 by-3

# Control characters of a document: escaped on a terminal, as they are elsewhere; in messages, too.
printf 'e1\tA \033]0;owned\007 dog \302\233 in Z\303\274rich \177.\n' >control.tsv
expect 0 index new --model "$TEACHER" control.index
expect 0 index add control.index --ids control.tsv
expect 0 search control.index "a dog"
grep -qF "$(cut -f 2 control.tsv)" stdout || fail "control characters are not kept: $(cat -v stdout)"
if command -v script >/dev/null; then
  last="calque search control.index on a terminal"
  SHELL=$BASH script -qec "'$PROGRAM' search control.index 'a dog'; '$PROGRAM' search \$'no\033\302\205where' 'a dog'" /dev/null \
    >stdout 2>stderr </dev/null
  stdout_has 'A \x1b]0;owned\x07 dog \x9b in Zürich \x7f.'
  stdout_has 'no\x1b\x85where'
  ! grep -q "$(printf '\033\\]0\|\007\|\302\233\|\302\205')" stdout || fail "control characters on a terminal: $(cat -v stdout)"
fi

# A long document is split; a query that is too long is truncated, and told so.
awk 'BEGIN { for (i = 0; i < 400; i++) printf "word "; print "end." }' >long.txt
awk 'BEGIN { for (i = 0; i < 40; i++) printf "The word of number %d is in a sentence. ", i; print "Two dogs play by the river." }' >sentences.txt
expect 0 index new --model "$TEACHER" long.index
expect 0 index add long.index long.txt
stderr_has "added 1 document in "
expect 0 index add long.index sentences.txt
expect 0 search long.index "Two dogs play by the river." --top 1 --json
stdout_has '"id": "sentences.txt:1"'
grep -q '"passage": 0,' stdout && fail "the last sentence should not be in the first passage"
grep -Eq '"text": ".*Two dogs play by the river."' stdout || fail "the passage should end with the sentence"
for kind in words vectors; do
  expect 0 search long.index "Two dogs by the river" --top 1 --snippet $kind
  [ "$(cut -f 4 stdout)" = "Two dogs play by the river." ] || fail "the best sentence by $kind: $(cut -f 4 stdout)"
done
# One rare word says more than two that all documents have.
printf 'The river is wide. A heron waits here.\nThe river is deep.\nThe river is long.\nThe river is cold.\n' >rivers.txt
expect 0 index new --model "$TEACHER" rivers.index
expect 0 index add rivers.index --language none rivers.txt
for ranking in dense words; do
  expect 0 search rivers.index "is the river of the heron" --snippet words --ranking $ranking
  grep -q "rivers.txt:1		A heron waits here.$" stdout || fail "the best sentence of the first: $(grep :1 stdout)"
done
expect 0 search long.index --queries long.txt
stderr_has "1 query longer than 64 tokens was truncated"
expect 0 mine --model "$TEACHER" --cache cache long.txt en.txt
stderr_has "1 of 1 sentences were longer than 64 tokens and were truncated"

# Words are found by other forms, in the document's language; a document with the word itself comes first.
printf '%s\n' "Wir schlafen schon." "Wir schlafen schön." "Die Häuser am Fluss." >de.forms.txt
printf '%s\n' "Rents rise near the café." "The rent of İstanbul" >en.forms.txt
printf '%s\n' "학교에서 책을 읽는다." >ko.forms.txt
expect 0 index new --model "$TEACHER" forms.index
for language in de en ko; do expect 0 index add forms.index --language $language $language.forms.txt; done
while read -r query wanted; do
  expect 0 search forms.index "$query" --ranking words
  [ "$(cut -f 2 stdout | tr '\n' ' ')" = "$wanted " ] || fail "'$query' finds $(cut -f 2 stdout | tr '\n' ' ')"
done <<'END'
schon de.forms.txt:1 de.forms.txt:2
schön de.forms.txt:2 de.forms.txt:1
Haus de.forms.txt:3
rents en.forms.txt:1 en.forms.txt:2
rent en.forms.txt:2 en.forms.txt:1
cafe en.forms.txt:1
istanbul en.forms.txt:2
학교 ko.forms.txt:1
책 ko.forms.txt:1
END
expect 0 search forms.index Haus --ranking hybrid --json
grep -q '"id": "de.forms.txt:3".*"by": "both"' stdout || fail "Häuser is not found by words: $(cat stdout)"

# Documents with fields: filters, words, both; and all of a document by its id.
cat >docs.jsonl <<'END'
{"_id": "1", "text": "A cat sleeps.", "title": "Cats", "year": 2021, "lang": "en", "url": "https://example.org/1"}
{"_id": "2", "text": "Ein Hund schläft.", "year": "2019", "lang": "de"}
{"_id": "3", "text": "The river is wide and the dog is late.", "tags": ["water", "dogs"]}
END
expect 0 index new --model "$TEACHER" docs.index
expect 0 index add docs.index --language none docs.jsonl
stderr_has "read as jsonl (1 file)"
expect 0 index info docs.index
stdout_has "languages   of none 1, de 1, en 1"
ids() { cut -f 2 stdout | LC_ALL=C sort | tr '\n' ' '; }
found() { # IDS FILTER
  expect 0 search docs.index "a cat" --filter "$2"
  [ "$(ids)" = "$1" ] || fail "'$2' finds $(ids), expected $1"
}
found "1 " 'year >= 2020'
found "1 2 " 'lang in [de, en]'
found "3 " 'tags = dogs'
found "2 3 " 'not title = Cats'
expect 0 search docs.index "a cat" --filter "has year" --language de
[ "$(ids)" = "2 " ] || fail "language and filter together find $(ids)"
expect 1 search docs.index "a cat" --filter "year ="
stderr_has "filter: it ends where a value is expected"
expect 0 search docs.index "dog" --ranking words
[ "$(ids)" = "3 " ] || fail "the word is in 3, not $(ids)"
expect 0 search docs.index "dog" --ranking words --words-model dirichlet --words-mu 10
[ "$(ids)" = "3 " ] || fail "the word is in 3, not $(ids)"
expect 2 search docs.index "dog" --ranking words --words-model tfidf
expect 0 search docs.index "cats" --ranking words # a title's words are its passages'
[ "$(ids)" = "1 " ] || fail "the word is in 1's title, not $(ids)"
for query in cat rivers RIVER dogs; do # other forms of the words, in an index of documents in no language
  expect 0 search docs.index "$query" --ranking words
  [ -s stdout ] || fail "no document has a form of '$query'"
done
expect 0 search docs.index "the wide river" --ranking hybrid --json
lines_are stdout 3
head -n 1 stdout | grep -q '"id": "3".*"by": "both"' || fail "3 should come first, by both: $(head -n 1 stdout)"
expect 0 index get docs.index 1
stdout_has '{"id": "1", "title": "Cats", "text": "A cat sleeps.", "url": "https://example.org/1", "language": "en", "year": 2021}'
expect 1 index get docs.index 9
stderr_has "there is no document '9'"
echo '{bad' >>docs.jsonl
expect 1 index add docs.index docs.jsonl
stderr_has "docs.jsonl:4:"
expect 0 index add docs.index --skip-bad docs.jsonl
stderr_has "skipped: docs.jsonl:4:"
stderr_has "1 document, file or folder was skipped"
stderr_has "added 3 documents (3 replaced), the index has 3"
before=$(wc -c <docs.index/vectors-1)
expect 0 index compact docs.index
[ "$(wc -c <docs.index/vectors-2)" -eq $((before / 2)) ] || fail "half of the vectors were replaced"
expect 0 index check docs.index
found "1 " 'year >= 2020'

# Hubness: a number for each passage, kept right by all changes; searches correct for it.
expect 1 search docs.index "the wide river" --csls
stderr_has "docs.index: it has no hubness to correct for (CSLS): 'calque index hubness' computes it"
expect 0 index hubness docs.index
stderr_has "hubness of 3 passages by the 3 nearest of 3 passages"
printf 'a wide river\n\nthe dog\na cat\nlate\n' >asked.txt
expect 0 index hubness docs.index --queries asked.txt --neighbors 2 --sample 3
stderr_has "hubness of 3 passages by the 2 nearest of 3 queries"
printf '4\tA fish swims.\n' >fish.tsv
expect 0 index add docs.index --ids fish.tsv
expect 0 index info docs.index
stdout_has "hubness     by 3 queries"
expect 0 search docs.index "the wide river" --csls --json
lines_are stdout 4
head -n 1 stdout | grep -q '"id": "3"' || fail "3 should come first: $(head -n 1 stdout)"
expect 0 index remove docs.index 4
expect 0 index compact docs.index
expect 0 index check docs.index
printf x | dd of="$(ls docs.index/hubness-*)" bs=1 seek=9 conv=notrunc 2>/dev/null
expect 1 index check docs.index
stderr_has "the number of record 1 (bytes 8 to 15) is damaged"
expect 1 search docs.index "the wide river" --csls
expect 1 index hubness docs.index
expect 0 index hubness docs.index --remove
expect 0 index check docs.index
expect 2 index hubness docs.index --remove --queries asked.txt
: >nothing.txt
expect 1 index hubness docs.index --queries nothing.txt
stderr_has "nothing.txt"

# An index of a version that is no longer read.
cp -r docs.index old.index
sed -i 's/"calque index 4"/"calque index 3"/' old.index/manifest.json
expect 1 search old.index "a cat"
stderr_has '"calque index 3", not "calque index 4": build the index again'
rm -r old.index

# All documents, although the nearest passages are of one: a hybrid search looks deeper.
for i in 1 2 3; do
  for ((k = 0; k < 150; k++)); do printf 'A cat of number %d sleeps on sofa %d. ' $i $k; done
  printf '\n'
done >deep.txt
expect 0 index new --model "$TEACHER" deep.index
expect 0 index add deep.index --passage-tokens 8 --passage-overlap 0 deep.txt en.txt
n=$("$PROGRAM" index info deep.index | sed -n 's/^documents *//p')
[ "$("$PROGRAM" index info deep.index | sed -n 's/^passages *//p')" -gt 400 ] || fail "the documents were not split"
for depth in 1 100; do
  expect 0 search deep.index "A cat sleeps on the sofa." --top "$n" --depth $depth
  lines_are "$tmp/stdout" "$n"
done

# Replacing and removing.
printf 'x1\tTwo dogs play by the river today.\n' >new.tsv
expect 0 index add an.index --ids new.tsv
stderr_has "added 1 document (1 replaced), the index has 5"
expect 0 search an.index "The bus to Vienna is late." --top 9
grep -q "The bus" stdout && fail "the replaced document is still found"
expect 0 index remove an.index x2 nobody
stderr_has "removed 1 of 2 documents, the index has 4"
stderr_has "there is no document 'nobody'"
expect 0 search an.index "A cat sleeps on the chair." --top 9
grep -q "x2" stdout && fail "the removed document is still found"

# Blank lines are no documents; tabs within texts are blanks; queries from a file; a directory is remembered by its whole path.
cp -r "$TEACHER" model
printf 'A\tB.\n\n  \n' >blank.txt
expect 0 index new --model model tabs.index
expect 0 index add tabs.index blank.txt
stderr_has "added 1 document, the index has 1"
mkdir -p elsewhere && cd elsewhere
printf 'A B.\nanother query\n' >queries.txt
expect 0 search ../tabs.index --queries queries.txt
stdout_has "# another query"
[ "$(grep -c '	blank.txt:1		A B.$' "$tmp/stdout")" -eq 2 ] || fail "the tab should be a blank"
cd ..
# Queries that come one by one are answered one by one, in either form.
coproc ASKED { exec "$PROGRAM" search tabs.index --queries - 2>asked.err; }
process=$ASKED_PID
first="" hit="" empty=x
for query in "A B." "another query"; do
  printf '%s\n' "$query" >&"${ASKED[1]}"
  read -r -t 60 first <&"${ASKED[0]}" && read -r -t 60 hit <&"${ASKED[0]}" && read -r -t 60 empty <&"${ASKED[0]}" ||
    fail "no answer to '$query' before the next: $(cat asked.err)"
  [ "$first" = "# $query" ] && [ -z "$empty" ] && [ "${hit#*blank.txt:1}" != "$hit" ] || fail "answer '$first' '$hit' '$empty'"
done
eval "exec ${ASKED[1]}>&-"
wait "$process" || fail "the search of a pipe ended with $?"
printf 'A B.\n' >one.txt
expect_from one.txt 0 search tabs.index --queries - --json
stdout_has '{"query": "A B.", "hits": 1, "rank": 1, '
expect_from one.txt 0 search tabs.index --queries - --json --language xx
stdout_has '{"query": "A B.", "hits": 0}'
expect 2 search tabs.index
mv model moved
expect 1 search tabs.index "A B."
stderr_has "say where it is now"
expect 0 search tabs.index "A B." --model moved

mv moved model

# An index of the English model, asked in German by its student, which has learned nothing but what alignment gives it.
zcat "$SOURCE/sample/train/en-de.tsv.gz" | head -n 1500 >aligned.tsv
expect 0 model new --from "$TEACHER" --vocab-size 2000 --text aligned.tsv student
cp -r "$TEACHER" english
expect 0 index new --model english english.index
expect 0 index add english.index en.txt
cp -r english.index untouched
mv english gone # the documents' model need not be there
expect 0 search english.index --query-model student "Zwei Hunde" --top 1
stdout_has "en.txt:3"
stderr_has "queries are encoded by student, documents were by $tmp/english"
expect 0 search english.index --query-model student "Der Zug nach Wien hat Verspätung." --top 1
stdout_has "en.txt:2"
diff -r english.index untouched >diff || fail "a search has changed the index: $(cat diff)"
expect 1 search english.index "Der Zug nach Wien."
expect 1 search english.index --query-model "$SOURCE/tests/golden/models/bert-uncased" "Der Zug nach Wien."
stdout_is_empty
stderr_has "english.index: has vectors of 128 dimensions, the query model $SOURCE/tests/golden/models/bert-uncased of 24"
expect 1 search english.index --query-model nowhere "Der Zug nach Wien."
stderr_has "nowhere"

# What is refused leaves the index as it was.
expect 1 index new --model "$TEACHER" an.index
stderr_has "exists"
expect 1 search nowhere.index "a"
stderr_has "nowhere.index: no index found"
expect 1 search an.index "a" --model "$SOURCE/tests/golden/models/bert-uncased"
stderr_has "was made with another model"
printf 'y1\tOne.\nno id\n' >bad.tsv
expect 1 index add an.index --ids bad.tsv
stderr_has "bad.tsv:2:"
printf 'y1\tOne.\ny1\tTwo.\n' >twice.tsv
expect 1 index add an.index --ids twice.tsv
stderr_has "document 'y1' appears twice"
: >empty.txt
expect 1 index add an.index empty.txt
expect 0 index info an.index
stdout_has "documents   4"
printf '{' >an.index/manifest.json.broken # somebody's file is no harm
expect 0 index info an.index

# A full disk.
yes 'A sentence about a river and a garden.' | head -n 3000 | awk '{ print "z" NR "\t" $0 " " NR }' >many.tsv
(ulimit -f 512 && exec "$PROGRAM" index add an.index --ids many.tsv >stdout 2>stderr)
[ $? -eq 1 ] || fail "a full disk is no failure"
stderr_has "an.index"
expect 0 index info an.index
stdout_has "documents   4"

# Killed at moments of its work: the index is as before or as after, and adding goes on.
for wait in 0.02 0.1 0.2 0.3 0.5; do
  "$PROGRAM" index add an.index --ids --batch 64 many.tsv 2>/dev/null &
  killed=$!
  sleep $wait
  kill -9 $killed 2>/dev/null
  wait $killed 2>/dev/null
  expect 0 index info an.index
  grep -q "documents   4$" stdout || grep -q "documents   3004$" stdout || fail "half of the documents count: $(head -n 1 stdout)"
done
for holder in $killed $$; do touch "an.index/approximate-7.tmp-$holder-0"; done # begun by a killed process, and by a living one
expect 0 index add an.index --ids many.tsv
[ ! -e an.index/approximate-7.tmp-$killed-0 ] || fail "what a killed process had begun is still there"
[ -e an.index/approximate-7.tmp-$$-0 ] || fail "what a living process writes is gone"
rm -f an.index/approximate-7.tmp-*
expect 0 index info an.index
stdout_has "documents   3004"
expect 0 search an.index "The train to Vienna is late." --top 1
stdout_has "en.txt:2"

# Approximate search: the same documents among these few, with exact scores; what is added later is found, what is removed is not.
expect 2 index approximate an.index --method tree
if [ -e "$(dirname "$PROGRAM")/src/libcalque_faiss.so" ]; then
  gzip -dc "$SOURCE"/sample/train/en-de.tsv.gz | cut -f 1 | awk '!seen[$0]++' | head -n 2000 >distinct.txt
  rm -r an.index
  expect 0 index new --model "$TEACHER" an.index
  expect 0 index add an.index --language en en.txt distinct.txt
  for method in hnsw ivf; do
    expect 0 index approximate an.index --method $method
    [ "$(ls an.index | grep -c '^approximate-')" -eq 1 ] || fail "not one approximation: $(ls an.index)"
    for query in "a garden by a river" "The train to Vienna is late." "Who has read the letter?"; do
      expect 0 search an.index --top 5 --exact "$query"
      cp stdout exact
      expect 0 search an.index --top 5 --effort 2000 "$query"
      same exact stdout
    done
  done
  expect 0 index info an.index
  stdout_has "approximate 2003"
  printf 'late\tA ship leaves the harbour at night.\n' >late.tsv
  expect 0 index add an.index --ids --language xx late.tsv
  expect 0 search an.index "A ship leaves the harbour at night." --top 1
  stdout_has "late	xx"
  expect 0 search an.index "a garden" --language xx --top 3
  lines_are stdout 1
  expect 0 index remove an.index late
  expect 0 search an.index "A ship leaves the harbour at night." --top 9
  grep -q "late	xx" stdout && fail "the removed document is still found"
  for wait in 0.02 0.1 0.3; do
    "$PROGRAM" index approximate an.index 2>/dev/null &
    killed=$!
    sleep $wait
    kill -9 $killed 2>/dev/null
    wait $killed 2>/dev/null
    expect 0 search an.index "The train to Vienna is late." --top 1
    stdout_has "en.txt:2"
  done
  expect 0 index add an.index --language en en.txt
  approximation=$(ls an.index/approximate-*) # what a killed process left is gone
  [ "$(echo "$approximation" | wc -l)" -eq 1 ] || fail "not one approximation: $approximation"
  head -c 1000 "$approximation" >cut && cp cut "$approximation"
  expect 1 search an.index "a garden"
  stderr_has "approximate-"
  expect 0 search an.index --exact "a garden"
  expect 0 index approximate an.index --method none
  expect 0 search an.index "a garden"
else
  expect 1 index approximate an.index
  stderr_has "approximate search needs calque's plugin for FAISS"
fi
expect 0 index new --model "$TEACHER" none.index
expect 1 index approximate none.index
stderr_has "approximat"
# Decomposed text: the index knows whether it was made with --compose.
decomposed_korean >nfd.txt
expect 0 index new --model "$AS_IT_IS" as-is.index
expect 0 index add as-is.index nfd.txt
warned 1
expect 0 search as-is.index "$(composed_korean)"
warned 0
grep -q "^1.0000" "$tmp/stdout" && fail "decomposed text has the vector of composed text"
expect 1 search as-is.index --compose "$(composed_korean)"
stderr_has "or without 'compose'"
expect 0 index new --model "$AS_IT_IS" --compose composed.index
expect 0 index add composed.index nfd.txt
warned 0
for text in "$(composed_korean)" "$(decomposed_korean)"; do
  expect 0 search composed.index "$text" --ranking dense
  warned 0
  stdout_has "1.0000	nfd.txt:1"
done
expect 0 index hubness composed.index --queries nfd.txt
warned 0
expect 1 search composed.index --model "$TEACHER" "a train"
stderr_has "was made with another model than"
finish
