# As many results as there are: by words where a rare word stands beside a common one, behind filters that few documents
# pass, and in two schemas of one database that both have an HNSW index.
. "$(dirname "$0")/common.sh"
TEACHER=$SOURCE/sample/teacher
found() { "$PROGRAM" search "$@" 2>/dev/null | wc -l; }
is() { [ "$1" = "$2" ] || fail "$3: found $1, expected $2"; }

# 6,000 documents: "penguin" is in one, "train" and "ship" are in 3,000 each
new_database words
seq 6000 | awk '{ print "{\"id\":\"d" NR "\",\"text\":\"" ($1 % 2 ? "The train number " $1 " is late." : "A ship number " \
  $1 " is early.") "\",\"year\":" 2000 + $1 % 2 "}" }' >lines.jsonl
echo '{"id":"p","text":"A penguin sleeps.","year":1999}' >>lines.jsonl
"$PROGRAM" index new --model "$TEACHER" files.index 2>/dev/null
"$PROGRAM" index add files.index lines.jsonl 2>/dev/null || fail "no index"
expect 0 index copy files.index --to "$ADDRESS"
for query in "penguin train" "penguin train ship" penguin train nowhere; do
  "$PROGRAM" search files.index "$query" --ranking words --top 10 >wanted 2>/dev/null
  for how in "" --exact; do
    # shellcheck disable=SC2086 # an option, or none
    is "$(found "$ADDRESS" "$query" --ranking words --top 10 $how)" "$(wc -l <wanted)" "'$query' $how"
  done
done
"$PROGRAM" search "$ADDRESS" "penguin train" --ranking words --top 10 2>/dev/null | head -n 1 | grep -q "penguin" ||
  fail "the document with the rare word is not the first"
is "$(found "$ADDRESS" "penguin train" --ranking words --top 10 --filter 'year = 2001')" 10 "behind a filter"
is "$(found "$ADDRESS" "penguin train ship" --ranking words --top 10 --filter 'year = 2000')" 10 "behind a filter"
is "$(found "$ADDRESS" "penguin train" --ranking words --top 10 --filter 'year = 1999')" 1 "behind a filter"

# documents of many passages with the rare word: as many documents as there are
new_database passages
for d in 1 2 3; do
  printf '{"id":"z%d","text":"' "$d"
  for _ in $(seq 40); do printf 'A zebra stands at the water, and nobody comes by today. '; done
  echo '"}'
done >zebras.jsonl
seq 2100 | sed 's/.*/{"id":"g&","text":"A giraffe number & eats leaves."}/' >giraffes.jsonl
expect 0 index new --model "$TEACHER" "$ADDRESS"
expect 0 index add "$ADDRESS" --passage-tokens 32 --passage-overlap 0 zebras.jsonl
expect 0 index add "$ADDRESS" giraffes.jsonl
for how in "" --exact; do
  # shellcheck disable=SC2086 # an option, or none
  is "$(found "$ADDRESS" "zebra giraffe" --ranking words --top 10 $how)" 10 "documents of many passages $how"
done

# five of 30,000 documents pass: pgvector ends its scan at 20,000
new_database filtered
echo '{"id":"seed","text":"A train.","rare":"no"}' >seed.jsonl
expect 0 index new --model "$TEACHER" "$ADDRESS"
expect 0 index add "$ADDRESS" seed.jsonl
sql -c "SET search_path TO calque, public" \
  -c "INSERT INTO document SELECT i, 'd' || i, 'en', '', '', 'some text',
      jsonb_build_object('rare', CASE WHEN i % 6000 = 7 THEN 'yes' ELSE 'no' END) FROM generate_series(1000, 30999) i" \
  -c "INSERT INTO passage SELECT i, i, 0, 0, 9, l2_normalize((SELECT array_agg(random() - 0.5) FROM
      generate_series(1, 128) WHERE i > 0)::vector(128)) FROM generate_series(1000, 30999) i" \
  -c "UPDATE calque_index SET n_documents = 30001, n_passages = 30001, next_document = 40000, next_passage = 40000" \
  -c "CREATE INDEX passage_embedding ON passage USING hnsw (embedding vector_ip_ops) WITH (m = 4, ef_construction = 16)" \
  -c "ANALYZE"
for filter in 'rare = yes' 'rare = yes and lang = en' 'not rare = no'; do
  is "$(found "$ADDRESS" "a train to Vienna" --ranking dense --filter "$filter" --top 5)" 5 "'$filter'"
  is "$(found "$ADDRESS" "a train to Vienna" --ranking dense --filter "$filter" --top 9)" 5 "'$filter', more than there are"
done

# two schemas
new_database schemas
seq 50 | sed 's/.*/The train number & to Vienna is late./' >few.txt
"$PROGRAM" index new --model "$TEACHER" few.index 2>/dev/null
"$PROGRAM" index add few.index few.txt 2>/dev/null || fail "no index"
hnsw() { sql -c "SELECT schemaname FROM pg_indexes WHERE indexname = 'passage_embedding' ORDER BY 1" | tr '\n' ' '; }
expect 0 index copy few.index --to "$ADDRESS?schema=public"
expect 0 index copy few.index --to "$ADDRESS?schema=other"
is "$(hnsw)" "other public " "two copies"
for _ in 1 2; do
  expect 0 index approximate "$ADDRESS?schema=other" --method none
  is "$(hnsw)" "public " "dropped in one schema"
done
expect 0 index approximate "$ADDRESS?schema=other" --method hnsw
is "$(hnsw)" "other public " "made again"
expect 0 index approximate "$ADDRESS?schema=public" --method none
is "$(hnsw)" "other " "dropped in the other"
finish
