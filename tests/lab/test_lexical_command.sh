# calque lexical: building, searching and runs beside the reference's, and what is refused.
. "$(dirname "$0")/../cli/common.sh"

golden=$SOURCE/tests/golden/lexical

# The same topics, documents and ranks, and scores to 1e-9.
same_run() { # EXPECTED RUN
  paste -d ' ' "$1" "$2" | awk '
    { difference = $5 - $11; if (difference < 0) difference = -difference }
    NF != 12 || $1 != $7 || $3 != $9 || $4 != $10 || difference > 1e-9 { print "line " NR ": " $0; bad = 1; exit }
    END { exit bad || NR == 0 }' || fail "$2 differs from $1"
}

# Rankings of the plain loops of reference/golden_lexical.py.
expect 0 lexical build golden.lexical "$golden/documents.tsv"
stderr_has "26 documents, 323 terms, 107 different"
stdout_is_empty
expect 0 lexical build pieces.lexical --segment-documents 5 --threads 3 "$golden/documents.tsv"
for model in dirichlet dirichlet-lucene bm25 bm25-terrier; do
  for index in golden pieces; do
    for more in "" --exhaustive; do
      expect 0 lexical run $index.lexical "$golden/topics.tsv" --model $model --threads 2 $more
      same_run "$golden/$model.txt" stdout
    done
  done
done
expect 0 lexical run golden.lexical "$golden/topics.tsv" --mu 10
same_run "$golden/dirichlet-mu-10.txt" stdout
expect 0 lexical run golden.lexical "$golden/topics.tsv" --model bm25 --k1 0.9 --b 0.4
same_run "$golden/bm25-k1-0.9-b-0.4.txt" stdout
expect 0 lexical run golden.lexical "$golden/topics.tsv" --top 1 --tag mine
[ "$(awk '{ print $6 }' stdout | sort -u)" = mine ] || fail "the tag should be mine"
awk '$4 == 1 { print $1, $3 }' "$golden/dirichlet.txt" >want
awk '{ print $1, $3 }' stdout >got
same want got

# A small collection in TREC's form, zipped, in a directory, beside one of JSON lines.
mkdir collection
gzip -c >collection/a.trec.gz <<'END'
<DOC>
<DOCNO> en-1 </DOCNO>
<HEAD>Steam engines</HEAD>
<TEXT>The old engine pulls a train of seven coaches.</TEXT>
</DOC>
<DOC>
<DOCNO> en-2 </DOCNO>
<HEAD>Timetable</HEAD>
<TEXT>Trains to the coast leave every hour; the trains back, every two.</TEXT>
</DOC>
END
printf '%s\n' '{"id": "en-3", "title": "A garden", "text": "Nobody waits for a bus there."}' '{"id": "en-4"}' \
  >collection/b.jsonl
printf 'the\na\nto\nof\n' >stop.txt
expect 0 lexical build news.lexical --language en --stop-words stop.txt collection
stderr_has "4 documents"
expect 0 lexical info news.lexical
stdout_has "documents   4"
stdout_has "segments    1"
stdout_has "language    en"
stdout_has "stems       yes"
stdout_has "stop words  4"
expect 0 lexical search news.lexical "The TRAINS' engine"
lines_are stdout 2
head -n 1 stdout | grep -q '^[0-9.-]*	en-1$' || fail "en-1 has both words"
expect 0 lexical search news.lexical "coaches trains" --top 1
lines_are stdout 1
expect 0 lexical search news.lexical "unicorns" "bus"
stdout_has "# unicorns"
stdout_has "# bus"
[ "$(grep -c '	' stdout)" -eq 1 ] || fail "one of the two queries finds one document"
expect 0 lexical search news.lexical "the"
stdout_is_empty
expect 0 lexical build words.lexical --language en --no-stems collection
expect 0 lexical search words.lexical "train"
lines_are stdout 1
expect 0 lexical build heads.lexical --field HEAD --field title collection
expect 0 lexical search heads.lexical "train"
stdout_is_empty
expect 0 lexical search heads.lexical "garden engines"
lines_are stdout 2
expect_from collection/b.jsonl 0 lexical build piped.lexical -
expect 0 lexical search piped.lexical "garden"
lines_are stdout 1

# What is indexed under what.
expect 0 lexical terms --language en --stop-words stop.txt "The houses' roofs" "to"
printf 'hous roof\n\n' >want
same want stdout
printf 'One Two\n\nthree\n' >lines.txt
expect_from lines.txt 0 lexical terms
printf 'one two\n\nthree\n' >want
same want stdout

# A run as `eval retrieval` takes it.
cat >topics.xml <<'END'
<top>
<num> Number: 7
<title> steam trains
<desc> Description:
coaches
</top>
<top>
<num> Number: 8
<title> garden
</top>
<top>
<num> Number: 9
<title> unicorn
</top>
END
printf '7 0 en-1 1\n7 0 en-3 0\n8 0 en-3 1\n9 0 en-4 1\n' >qrels
expect 0 lexical run news.lexical topics.xml
lines_are stdout 3
cp stdout title.run
expect 0 eval retrieval --complete --measure map --measure num_ret qrels title.run
stdout_has "map	all	0.6667"
stdout_has "num_ret	all	3"
expect 0 lexical run news.lexical topics.xml --fields td
cmp -s stdout title.run && fail "the description should count"

# What is refused.
expect 1 lexical build news.lexical "$golden/documents.tsv"
stderr_has "news.lexical"
stderr_has "exists"
expect 0 lexical info news.lexical
stdout_has "documents   4"
expect 2 lexical build new.lexical
expect 1 lexical build new.lexical nowhere.tsv
stderr_has "nowhere.tsv: there is no such file or directory"
: >empty.tsv
expect 1 lexical build new.lexical empty.tsv
stderr_has "empty.tsv: no documents"
printf 'a\tx\nb\ty\na\tz\n' >twice.tsv
expect 1 lexical build new.lexical twice.tsv
stderr_has "twice.tsv:3: the id 'a' appears twice"
printf 'a\tx\nnothing\n' >bad.tsv
expect 1 lexical build new.lexical bad.tsv
stderr_has "bad.tsv:2: no tab, expected id, tab, text"
printf '<DOC>\n<DOCNO>a</DOCNO>\n<DOC>\n' >bad.trec
expect 1 lexical build new.lexical bad.trec
stderr_has "bad.trec:3: <DOC> inside the document of line 1"
expect 1 lexical build new.lexical --stop-words nowhere.txt "$golden/documents.tsv"
stderr_has "nowhere.txt"
absent new.lexical
[ -z "$(ls -d new.lexical* 2>/dev/null)" ] || fail "something of new.lexical was left: $(ls -d new.lexical*)"
expect 1 lexical search nowhere.lexical "a"
stderr_has "nowhere.lexical"
expect 1 lexical info collection
stderr_has "collection"
expect 2 lexical search news.lexical
expect 2 lexical search news.lexical "a" --model tfidf
stderr_has "tfidf"
expect 2 lexical search news.lexical "a" --top 0
expect 2 lexical search news.lexical "a" --b 1.5
expect 2 lexical search news.lexical "a" --mu -1
expect 1 lexical run news.lexical topics.xml --fields tx
stderr_has "fields are 'tx', expected letters of t, d and n"
expect 1 lexical run news.lexical nowhere.xml
stderr_has "nowhere.xml"
printf '{}' >piped.lexical/manifest.json
expect 1 lexical search piped.lexical "garden"
stderr_has "manifest.json: not the manifest of a lexical index of version 1"
head -c 200 words.lexical/segment-1 >cut && cp cut words.lexical/segment-1
expect 1 lexical search words.lexical "train"
stderr_has "segment-1: a part is not where the header says"
expect 0 lexical build dash.lexical "$golden/documents.tsv"
rm dash.lexical/segment-1
expect 1 lexical info dash.lexical
stderr_has "segment-1"

# A full disk, and kills: an index is there whole or not at all.
awk 'BEGIN { for (d = 0; d < 12000; d++) { printf "d%d\t", d; for (i = 0; i < 20; i++) printf "w%d ", d * i * 7919 % 30011; print "" } }' >many.tsv
(ulimit -f 256 && exec "$PROGRAM" lexical build many.lexical many.tsv >stdout 2>stderr)
[ $? -eq 1 ] || fail "a full disk is no failure"
stderr_has "many.lexical"
[ -z "$(ls -d many.lexical* 2>/dev/null)" ] || fail "something was left of the full disk: $(ls -d many.lexical*)"
for wait in 0.01 0.05 0.1 0.2; do
  "$PROGRAM" lexical build many.lexical many.tsv 2>/dev/null &
  killed=$!
  sleep $wait
  kill -9 $killed 2>/dev/null
  wait $killed 2>/dev/null
  if [ -e many.lexical ]; then
    expect 0 lexical info many.lexical
    stdout_has "documents   12000"
    rm -r many.lexical
  fi
done
expect 0 lexical build many.lexical many.tsv
[ "$(ls -d many.lexical* | wc -l)" -eq 1 ] || fail "killed builds left something: $(ls -d many.lexical*)"
finish
