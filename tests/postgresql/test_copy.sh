# An index of files and its copy in a database: the same documents, and the same found; replacing, removing, copying
# again.
. "$(dirname "$0")/common.sh"
TEACHER=$SOURCE/sample/teacher
new_database copied

"$PROGRAM" index new --model "$TEACHER" files.index 2>/dev/null
"$PROGRAM" index add files.index "$SOURCE/sample/documents" 2>/dev/null || fail "no index"
expect 0 index copy files.index --to "$ADDRESS"
stderr_has "copied 48 documents, the index in the database has 48"
is_consistent
expect 0 index info "$ADDRESS"
stdout_has "documents   48"
stdout_has "languages   ar 3, de 6"

# the same hits, scores and snippets: by vectors, words and both, of documents of several passages
same_hits() {
  expect 0 search files.index "$@" --json
  sed 's/"cosine": \(-\?[0-9]\.[0-9]\{4\}\)[0-9]*/"cosine": \1/; s/"score": \(-\?[0-9]*\.[0-9]\{4\}\)[0-9]*/"score": \1/; s/, "metadata".*//' stdout >of-files
  expect 0 search "$ADDRESS" "$@" --json
  sed 's/"cosine": \(-\?[0-9]\.[0-9]\{4\}\)[0-9]*/"cosine": \1/; s/"score": \(-\?[0-9]*\.[0-9]\{4\}\)[0-9]*/"score": \1/; s/, "metadata".*//' stdout >of-database
  [ -s of-files ] && same of-files of-database
}
for ranking in dense words hybrid; do
  same_hits "how to repair a bicycle" "coffee" "the night train to Vienna" --ranking $ranking --top 7 --snippet words --exact
done
same_hits "how to repair a bicycle" --top 20 --exact --language de
same_hits "coffee" --ranking words --words-model dirichlet
same_hits "coffee" --ranking hybrid --words-model dirichlet-lucene --snippet vectors --exact
expect 0 search "$ADDRESS" "coffee" --top 100 --ranking dense
lines_are stdout 48
expect 0 search "$ADDRESS" "coffee" --ranking words --language xx
stdout_is_empty

# again: the same
dump >before
expect 0 index copy files.index --to "$ADDRESS"
dump >after
same before after
is_consistent

# a change here and there, by the database itself
printf '{"id":"new","text":"Zwei Hunde spielen am Fluss.","language":"de","year":2020}\n' >more.jsonl
expect 0 index add "$ADDRESS" more.jsonl
stderr_has "the index has 49"
is_consistent
expect 0 search "$ADDRESS" "dogs" --filter "year = 2020"
stdout_has "Zwei Hunde"
expect 0 search "$ADDRESS" "Hunde" --ranking words --top 1
stdout_has "new"
printf '{"id":"new","text":"Eine Katze.","language":"de"}\n' >more.jsonl
expect 0 index add "$ADDRESS" more.jsonl
stderr_has "the index has 49"
is_consistent
expect 0 index get "$ADDRESS" new
stdout_has "Eine Katze."
expect 0 index remove "$ADDRESS" new nobody
stderr_has "removed 1 of 2 documents, the index has 48"
is_consistent
dump >after
same before after

# vectors of 16 bits, in a schema of their own; exact beside approximate search
expect 0 index copy files.index --to "$ADDRESS?schema=half" --halfvec --hnsw no --batch 7
is_consistent half
expect 0 index info "$ADDRESS?schema=half"
stdout_has "approximate 0"
expect 0 search "$ADDRESS?schema=half" "coffee" --top 3
cp stdout exact
expect 0 index approximate "$ADDRESS?schema=half"
expect 0 index info "$ADDRESS?schema=half"
stdout_has "approximate 545"
expect 0 search "$ADDRESS?schema=half" "coffee" --top 3 --exact
same stdout exact

# a new index, empty at first; a name that needs quotation marks
expect 0 index new --model "$TEACHER" "$ADDRESS?schema=a%22b%20c"
expect 0 search "$ADDRESS?schema=a%22b%20c" "coffee"
stdout_is_empty
expect 0 index add "$ADDRESS?schema=a%22b%20c" more.jsonl
expect 0 search "$ADDRESS?schema=a%22b%20c" "cat"
lines_are stdout 1
expect 1 index new --model "$TEACHER" "$ADDRESS?schema=a%22b%20c"
stderr_has "already; another name: ?schema=NAME"

# what a database has no use for says what to do instead
expect 1 index compact "$ADDRESS"
stderr_has "VACUUM"
expect 1 index hubness "$ADDRESS"
stderr_has "index of files"
expect 1 index check "$ADDRESS"
stderr_has "pg_amcheck"
expect 1 index approximate "$ADDRESS" --method ivf
stderr_has "--method hnsw"
expect 1 index add "$ADDRESS" --mirror more.jsonl
stderr_has "copy"
finish
