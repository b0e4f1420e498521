# A folder of documents as the index of itself, and 'index add --mirror', which keeps it so.
. "$(dirname "$0")/common.sh"

mkdir docs docs/deep
printf 'A dog barks in the yard.\n' >docs/dog.txt
printf '# Cats\n\nThe cat sleeps on the sofa.\n' >docs/cat.md
printf '{"id": "rent", "text": "Rents are rising.", "year": 2020}\n' >docs/deep/news.jsonl

expect 0 search docs "a sleeping cat" --model "$TEACHER"
stderr_has "added 3 documents, the index has 3"
lines_are "$tmp/stdout" 3
expect 0 index info docs/.calque
stdout_has "documents   3"
stdout_has "$(realpath "$TEACHER")"

# The model is remembered, whichever way the folder is named, and only what changed is encoded.
expect 0 search ./docs "a sleeping cat"
stderr_has "nothing changed, the index has 3 documents"
grep -q "$(printf '\tdog.txt\t')" "$tmp/stdout" || fail "ids are not paths within the folder"
printf 'A dog barks at the postman.\n' >docs/dog.txt
expect 0 search "$tmp/docs" "a dog"
stderr_has "added 1 document (1 replaced), the index has 3"
stdout_has "postman"
rm docs/dog.txt
printf 'A horse.\n' >docs/horse.txt
expect 0 search docs "a dog"
stderr_has "removed 1 document"
stderr_has "added 1 document, the index has 3"
lines_are "$tmp/stdout" 3
grep -q dog "$tmp/stdout" && fail "a document that is gone was found"
expect 0 index check docs/.calque

# The same index as one that was made at once.
cp -r docs fresh && rm -r fresh/.calque && printf 'Snow.\n' >fresh/deep/snow.txt
expect 0 data documents --relative fresh/ docs/horse.txt
stdout_has '"id": "deep/snow.txt"'
stdout_has '"id": "docs/horse.txt:1"'
rm fresh/deep/snow.txt
expect 0 search fresh "a dog" --model "$TEACHER" --ranking dense
cut -f 1,2,4 "$tmp/stdout" >fresh.txt
expect 0 search docs "a dog" --ranking dense # words count those of removed documents until the index is compacted
cut -f 1,2,4 "$tmp/stdout" >kept.txt
same fresh.txt kept.txt

# --mirror for any index. What cannot be read leaves it as it was.
printf 'one\tA dog.\ntwo\tA cat.\nthree\tA horse.\n' >first.tsv
printf 'two\tA cat.\nthree\tA white horse.\nfour\tA cow.\n' >second.tsv
expect 0 index new --model "$TEACHER" small.index
expect 0 index add small.index first.tsv
expect 0 index add small.index --mirror --batch 1 second.tsv
stderr_has "removed 1 document"
stderr_has "added 2 documents (1 replaced), the index has 3"
expect 0 index get small.index three
stdout_has "white"
expect 1 index get small.index one
printf '{"id": "five", "text": "A sheep."}\n{"id": ' >bad.jsonl
expect 1 index add small.index --mirror bad.jsonl
stderr_has "bad.jsonl:2"
printf 'six\tA pig.\nsix\tA pig.\n' >twice.tsv
expect 1 index add small.index --mirror twice.tsv
stderr_has "six"
expect 0 index info small.index
stdout_has "documents   3"

# Unchanged or not, a second document of the same id is an error that names the file and line.
printf 'two\tA cat.\ntwo\tA cat.\n' >twice.tsv
expect 1 index add small.index --mirror twice.tsv
stderr_has "twice.tsv:2: document 'two' appears twice"
expect 1 index add small.index first.tsv second.tsv
stderr_has "second.tsv:1: document 'two' appears twice, before in first.tsv:2"
for batch in 1 2 1000; do
  expect 1 index add small.index --mirror --batch $batch first.tsv second.tsv
  stderr_has "second.tsv:1: document 'two' appears twice, before in first.tsv:2"
done
printf -- '---\nid: same\n---\nA cow.\n' | tee one.md >two.md
expect 1 index add small.index one.md two.md
stderr_has "two.md: document 'same' appears twice, before in one.md"
expect_from two.md 1 index add small.index --format markdown one.md -
stderr_has "<stdin>: document 'same' appears twice"
# Without --file-ids any document may be in the file that cannot be read.
printf 'id,text\ntwo,A cat.\nthree,"A hor\n' >broken.csv
expect 0 index add small.index --mirror --skip-bad broken.csv
stderr_has "kept 2 documents that the index has of files that cannot be read completely"
expect 0 index info small.index
stdout_has "documents   3"

# In a folder, ids are those of their files.
mkdir exports exports/site
printf 'id,text\n1,A dog.\n2,A cat.\n2,A horse.\n' >exports/a.csv
printf -- '---\nid: 1\n---\nA cow.\n' >exports/site/page.md
expect 0 search exports "a dog" --model "$TEACHER"
lines_are "$tmp/stdout" 4
printf '{"id": 1, "text": "A dog sleeps."}\n' >exports/b.jsonl
for changes in "added 1 document, the index has 5" "nothing changed, the index has 5"; do
  expect 0 search exports "a dog"
  stderr_has "$changes"
  cut -f 2 "$tmp/stdout" | sort | tr '\n' ' ' >ids
  printf 'a.csv#1 a.csv#2 a.csv:4 b.jsonl#1 site/page.md#1 ' | same - ids
done

# No record of a file has the id of another file, whatever their names.
mkdir names
printf 'id,text\n9.md,A cat.\nx#9.md,A cow.\n' >names/t.csv
for name in 't.csv#9.md' 't.csv%239.md' 't.csv#x#9.md' 't.csv%23x#9.md' 'C# 100%.md'; do echo "A dog." >"names/$name"; done
expect 0 search names "a dog" --model "$TEACHER"
stderr_has "the index has 7"
cut -f 2 "$tmp/stdout" | sort >ids
printf '%s\n' 'C# 100%.md' 't.csv#9.md' 't.csv#x#9.md' t.csv%{23,2523}{9.md,x#9.md} | sort | same - ids

# What is there, but cannot be read as a file, keeps what the index has of it, with a line that names it, once if it is left
# out; what is gone goes.
mkdir odd odd/site away
printf 'A hen.\n' >away/hen.txt
ln -s ../away/hen.txt odd/hen.txt && ln -s ../away odd/far.away
printf 'id,text\n1,A cat.\n2,A cow.\n' >odd/t.csv
for name in dog.txt fox.md pig.txt owl.txt site/rat.md; do echo "A ${name%.*}." >odd/$name; done
expect 0 search odd "a dog" --model "$TEACHER"
stderr_has "the index has 9"
mv away gone
rm odd/t.csv odd/fox.md odd/pig.txt odd/owl.txt odd/site/rat.md
mkdir odd/t.csv && mkfifo odd/fox.md && ln -s pig.txt odd/pig.txt && mkfifo odd/unknown.xyz
for changes in "added 0 documents, the index has 7" "nothing changed, the index has 7"; do
  expect 0 search odd "a dog"
  stderr_has "$changes"
  for line in "odd/hen.txt is a link to something that is not there" "odd/fox.md is neither a file nor a folder" \
    "odd/pig.txt is a link to something that is not there"; do
    case $changes in
      added*) stderr_has "$(realpath odd)${line#odd}" ;;
      *) grep -q "${line#odd}" "$tmp/stderr" && fail "it is told again" ;;
    esac
  done
  for line in "odd/far.away is a link to something that is not there; what the index has of it is kept" \
    "odd/t.csv is a folder; what the index has of it is kept"; do
    stderr_has "$(realpath odd)${line#odd}"
  done
  grep -q "malformed\|unknown.xyz" "$tmp/stderr" && fail "it is called something else"
done
expect 0 index add --mirror --file-ids --relative odd/.calque odd
stderr_has "kept 6 documents"
rm -r odd/t.csv odd/far.away
expect 0 search odd "a dog"
stderr_has "removed 3 documents"
mv gone away
expect 0 search odd "a dog"
stderr_has "the index has 4"

# What cannot be read stays in the index, whatever is wrong with the file; of the other files it goes.
has_of_a() {
  expect 0 search exports "a dog"
  stderr_has "kept $kept that the index has of files that cannot be read completely"
  for id in a.csv#1 a.csv#2 a.csv:4; do grep -q "$id" "$tmp/stdout" || fail "$id is gone"; done
}
cp exports/a.csv good.csv
rm exports/b.jsonl
kept="1 document"
printf 'id,text\n1,A dog, too\n2,A cat.\n2,A horse.\n' >exports/a.csv
has_of_a
stderr_has "a.csv:2: 3 columns"
stderr_has "removed 1 document"
kept="3 documents"
printf 'id,words\n1,A dog.\n' >exports/a.csv
has_of_a
printf '\x1f\x8b\x08\x00damaged' >exports/a.csv
has_of_a
cp good.csv exports/a.csv
expect 0 search exports "a dog"
stderr_has "nothing changed, the index has 4"

# While another process changes the index: an unchanged folder needs no lock, a changed one is searched as it was, and
# the first index is waited for.
expect_locked() { # FOLDER SECONDS ARGS...: the lock is held for so long
  local folder=$1 s=$2 holder
  shift 2
  flock -o "$folder" sleep "$s" & holder=$!
  sleep 0.2
  expect 0 "$@"
  kill $holder 2>/dev/null
  wait $holder 2>/dev/null
}
expect_locked exports 30 search exports "a dog"
stderr_has "nothing changed, the index has 4"
printf 'A sheep.\n' >exports/sheep.txt
expect_locked exports 30 search exports "a sheep"
stderr_has "the last complete state is used"
lines_are "$tmp/stdout" 4
expect 0 search exports "a sheep"
lines_are "$tmp/stdout" 5
rm -r exports/.calque
expect_locked exports 1 search exports "a sheep" --model "$TEACHER"
stderr_has "waiting for another process"
stderr_has "added 5 documents"
for i in $(seq 300); do echo "Animal $i is a sheep." >exports/$i.txt; done
for round in changed unchanged fresh; do
  if [ $round = fresh ]; then rm -r exports/.calque; fi
  searches=
  for i in 1 2 3 4; do
    "$PROGRAM" search exports "a sheep" --model "$TEACHER" >found.$i 2>notes.$i & searches="$searches $!"
  done
  for pid in $searches; do wait "$pid" || fail "$round: one of four searches failed: $(cat notes.*)"; done
  for i in 1 2 3 4; do [ -s found.$i ] || fail "$round: search $i found nothing"; done
done

# An index of another version, or a damaged one, is rebuilt. A file without documents, and how many are
# left out, is told once, and again when it changes.
rm exports/[0-9]*.txt
printf 'id,text\n' >exports/none.csv
printf 'a\0' >exports/one.bin
expect 0 search exports "a sheep"
stderr_has "exports/none.csv: no document in it"
stderr_has "left out files: 1 binary (.bin)"
expect 0 search exports "a sheep"
grep -q "none.csv\|left out" "$tmp/stderr" && fail "what is left out is told again"
printf 'a\0' >exports/two.bin
expect 0 search exports "a sheep"
stderr_has "left out files: 2 binary (.bin)"
stderr_has "nothing changed"
grep -q "none.csv" "$tmp/stderr" && fail "what is left out is told again"
expect_rebuilt() { # what is wrong
  expect 0 search exports "a sheep"
  stderr_has "$1"
  stderr_has "; rebuilding it with $(realpath "$TEACHER")"
  stderr_has "added 5 documents, the index has 5"
  expect 0 search exports "a sheep"
  stderr_has "nothing changed"
  expect 0 index info exports/.calque
  stdout_has "$(realpath "$TEACHER")"
}
sed -i 's/"calque index [0-9]"/"calque index 1"/' exports/.calque/manifest.json
expect_rebuilt '"format" is "calque index 1"'
damage exports/.calque/documents-1 5000
expect_rebuilt "documents-1: page 2 (bytes 4096 to 8191) is damaged"

# A file whose name is not UTF-8 is left out.
mkdir named
printf 'A fox.\n' >named/fox.txt
printf 'id,text\n1,red\n2,blue\n' >named/$'\xff.csv'
printf 'A dog.\n' >named/$'caf\xe9.md'
expect 0 search named "a dog" --model "$TEACHER"
stderr_has "the file's name, which would be an id, is not UTF-8"
lines_are "$tmp/stdout" 1

# Any file of the index that is damaged or missing: one line says so, the index is rebuilt from the folder, and what a
# user has put in its directory stays. Without a readable manifest the model is not known: the default takes its place.
export CALQUE_MODELS=$tmp/shipped
mkdir shipped && ln -s "$TEACHER" shipped/calque-base
expect 0 search docs "a dog" # makes docs/.calque/words-2 of two commits
touch docs/.calque/notes.txt
rm -rf whole && cp -r docs/.calque whole
for file in manifest.json documents-1 vectors-1 passages-1 checks-1 deleted-1 words-1; do
  for damage in bit cut empty gone; do
    rm -rf docs/.calque && cp -r whole docs/.calque
    damaged=docs/.calque/$file
    [ -e "$damaged" ] || { file=$(cd whole && ls ${file%-*}-* | head -1) && damaged=docs/.calque/$file; }
    size=$(wc -c <"$damaged")
    case $damage in
      bit) if [ $file = manifest.json ]; then sed -i 's/"records": /"records": 1/' "$damaged"; else
        damage "$damaged" $((size / 8)); fi ;;
      cut) truncate -s $((size > 9 ? size - 9 : 0)) "$damaged" ;;
      empty) truncate -s 0 "$damaged" ;;
      gone) rm "$damaged" ;;
    esac
    expect 0 search docs "a dog" --ranking dense
    same "$tmp/stdout" <(sort -rn "$tmp/stdout")
    cut -f 1,2,4 "$tmp/stdout" | same - kept.txt
    grep -q "^calque: $(realpath docs)/.calque.*; rebuilding it with " "$tmp/stderr" || fail "$file ($damage): not rebuilt"
    stderr_has "added 3 documents, the index has 3"
    expect 0 index check docs/.calque
    [ "$(ls -A docs | grep -c calque)" -eq 1 ] && [ -e docs/.calque/notes.txt ] || fail "$(ls -A docs docs/.calque)"
  done
done
rm -rf docs/.calque && mkdir docs/.calque && touch docs/.calque/notes.txt
expect 0 search docs "a dog"
[ -e docs/.calque/notes.txt ] || fail "what a user has put there is gone"
unset CALQUE_MODELS
rm -rf docs/.calque && mv whole docs/.calque
# An index that the user has made is not rebuilt.
cp -r small.index other.index && damage other.index/documents-1 5000
cp -r other.index as-damaged
expect 1 search other.index "a dog"
stderr_has "is damaged"
diff -r other.index as-damaged >/dev/null || fail "a search changed an index that is not a folder's"

# Encodings: a byte order mark, a declared one, and --encoding.
mkdir latin
printf '\xff\xfe<\0p\0>\0c\0a\0f\0\xe9\0<\0/\0p\0>\0' >latin/utf16.html
printf '<meta charset="windows-1251"><p>\xea\xee\xf2' >latin/declared.html
printf '<?xml version="1.0" encoding="ISO-8859-2"?><html><body><p>\xbelu\xbb</p></body></html>' >latin/xml.xhtml
printf 'Gr\xfc\xdfe\n' >latin/greeting.txt
expect 0 search latin "a dog" --model "$TEACHER"
stderr_has "latin/greeting.txt: byte 2: not UTF-8"
lines_are "$tmp/stdout" 3
printf '\xef\xbb\xbfZürich\n' >latin/marked.txt
expect 0 search latin "a dog" --encoding windows-1252
for text in "Zürich" "café" "кот" "žluť" "Grüße"; do stdout_has "$text"; done
expect 1 search latin "a dog" --encoding nonsense
stderr_has "there is no encoding 'nonsense'"
expect 2 search small.index "a dog" --encoding UTF-16
stderr_has "--encoding is for a FOLDER"
expect 2 serve small.index --encoding UTF-16
stderr_has "--encoding is for a FOLDER"

# A folder that cannot be written to is indexed in the cache.
if [ "$(id -u)" -ne 0 ]; then
  # What is in a directory that cannot be read stays in the index.
  expect 0 search exports "a sheep"
  for mode in -r -x; do
    chmod $mode exports/site
    expect 0 search exports "a sheep"
    stderr_has "kept 1 document"
    grep -q "exports/site.*cannot be read: Permission denied" "$tmp/stderr" || fail "the folder is not named"
    grep -q malformed "$tmp/stderr" && fail "an unreadable folder is no malformed document"
    stderr_has "nothing changed, the index has 5"
    chmod +rx exports/site
  done
  rm -rf fresh/.calque && chmod -w fresh
  XDG_CACHE_HOME=$tmp/cache expect 0 search fresh "a dog" --model "$TEACHER"
  [ ! -e fresh/.calque ] && ls cache/calque/folders/%*%fresh/manifest.json >/dev/null || fail "the index is not in the cache"
  # Its own index is used if it is up to date.
  chmod +w fresh && expect 0 search fresh "a dog" --model "$TEACHER" && rm -r cache
  cp "$tmp/stdout" from-own && chmod -w fresh fresh/.calque
  XDG_CACHE_HOME=$tmp/cache expect 0 search fresh "a dog"
  stderr_has "nothing changed"
  same "$tmp/stdout" from-own
  [ ! -e cache ] || fail "a read-only folder with an index was indexed again"
  chmod +w fresh # and one that somebody else owns is not changed
  printf 'A fox.\n' >fresh/fox.txt
  XDG_CACHE_HOME=$tmp/cache expect 0 search fresh "a dog" --model "$TEACHER"
  ls cache/calque/folders/%*%fresh/manifest.json >/dev/null || fail "the index is not in the cache"
  chmod +w fresh/.calque && rm fresh/fox.txt
fi

# Folders that hold nothing to read, and none.
mkdir empty
expect 1 search empty "a dog" --model "$TEACHER"
stderr_has "no documents"
expect 0 search docs "a dog" --model "$SOURCE/sample/teacher"
stderr_has "docs/.calque: made with '$(realpath "$TEACHER")'; rebuilding it with $SOURCE/sample/teacher"
expect 0 search docs "a dog"
stderr_has "nothing changed"
expect 1 search docs "a dog" --model nowhere
expect 0 index info docs/.calque
stdout_has "$(realpath "$SOURCE/sample/teacher")"
expect 2 serve docs --writable
stderr_has "--writable"
expect 1 search nowhere "a dog"
stderr_has "no index found"

# A static model has no longest length: only --passage-tokens splits.
for i in $(seq 40); do printf 'A dog sees a cat. '; done >long.txt
printf '\n' >>long.txt
expect 0 index new --model "$SOURCE/tests/golden/models/static-mean" static.index
expect 0 index add static.index --passage-tokens 0 long.txt
expect 0 index info static.index
stdout_has "passages    1"
expect 0 index add static.index --passage-tokens 100 long.txt
expect 0 index info static.index
grep -q "passages    [2-9]$" "$tmp/stdout" || fail "the document was not split as it should be"

# One warning of decomposed text, in the documents and in the query.
mkdir mac
decomposed_korean >mac/a.txt
expect 0 search mac --model "$AS_IT_IS" "$(decomposed_korean)"
warned 1
rm -r mac/.calque
expect 0 search mac --model "$AS_IT_IS" --compose "$(composed_korean)"
warned 0
stdout_has "1.0000	a.txt"

# No model is named: the one that calque ships, wherever it is.
mkdir models && ln -s "$TEACHER" models/calque-base
export CALQUE_MODELS=$tmp/models
printf 'A dog.\n' >dog.txt
expect 0 encode dog.txt
cp "$tmp/stdout" by-default.json
expect 0 encode --model "$TEACHER" dog.txt
same "$tmp/stdout" by-default.json
expect 0 index new default.index
expect 0 index info default.index
stdout_has "calque-base"
export CALQUE_MODELS=$tmp/nowhere
expect 1 encode dog.txt
stderr_has "calque-base"
expect 2 autoencode encode --language fr dog.txt
stderr_has "--model"

# An earlier model of the same name made the index: a folder's is rebuilt, another's is refused with the commands.
changes="the model 'calque-base' has changed since this index was made; rebuilding it"
mkdir -p earlier changed && ln -s "$TEACHER" earlier/calque-base
ln -s "$SOURCE/tests/golden/models/static-mean" changed/calque-base
of_dog() { grep -q "$(printf '\tdog.txt\t')" "$tmp/stdout" || fail "the dog was not found"; }
rm -rf home && mkdir home && cp dog.txt fresh/deep/news.jsonl home/
export CALQUE_MODELS=$tmp/earlier
expect 0 search home "a dog"
expect 0 index new --model base small-too.index
expect 0 index add small-too.index dog.txt
cp -r home/.calque earlier.index
export CALQUE_MODELS=$tmp/changed
for command in "search small-too.index dog" "serve small-too.index" "index add small-too.index dog.txt"; do
  expect 1 $command
  stderr_has "small-too.index: was made with another model than calque-base ('calque-base', of fingerprint"
  stderr_has "calque index new NEW --model calque-base && calque index add NEW FILE..."
done
expect 0 index new NEW --model calque-base
expect 0 index add NEW dog.txt
expect 0 search NEW dog
for model in "" "--model base" "--model calque-base"; do
  rm -rf home/.calque && cp -r earlier.index home/.calque
  expect 0 search home "a dog" $model
  stderr_has "home/.calque: $changes"
  stderr_has "added 2 documents, the index has 2"
  of_dog
  expect 0 search home "a dog" $model
  stderr_has "nothing changed"
done
[ "$(ls -A home | tr '\n' ' ')" = ".calque dog.txt news.jsonl " ] || fail "more than the index is left: $(ls -A home)"
expect 0 search home "a dog" --model "$TEACHER" # of another name
stderr_has "home/.calque: made with 'calque-base'; rebuilding it with $TEACHER"

# A rebuild that fails keeps the old index; a killed one leaves the old index, under either name, and parts of the new.
rm -rf home/.calque && cp -r earlier.index home/.calque
mkdir aside && mv home/dog.txt home/news.jsonl aside
expect 1 search home "a dog"
mv aside/* home
diff -r earlier.index home/.calque >/dev/null || fail "the old index is not what it was"
[ "$(ls -A home | grep -c calque)" -eq 1 ] || fail "the failed rebuild left something"
mv home/.calque home/.calque%%old && mkdir home/.calque%%new
expect 0 search home "a dog"
stderr_has "$changes"
of_dog
mkdir home/.calque%%new home/.calque%%old
expect 0 search home "a dog"
of_dog
[ "$(ls -A home | grep -c calque)" -eq 1 ] || fail "the killed rebuild left something"
for ms in 005 010 020 040 080; do
  rm -rf home/.calque && cp -r earlier.index home/.calque
  { timeout -s KILL 0.$ms "$PROGRAM" search home "a dog" >stdout; } 2>/dev/null
  expect 0 search home "a dog"
  of_dog
  expect 0 index check home/.calque
done
rm -rf home/.calque && cp -r earlier.index home/.calque
timeout 5 "$PROGRAM" serve home --port 0 >stdout 2>stderr </dev/null &
served=$!
for _ in $(seq 50); do grep -q listening stdout 2>/dev/null && break; sleep 0.1; done
kill $served && wait $served
stdout_has "listening on"
stderr_has "$changes"
finish
