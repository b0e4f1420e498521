# A copy that loses its connection, during a batch and between two, or is killed: the same call goes on, and the result
# is that of a copy that was left alone.
. "$(dirname "$0")/common.sh"
TEACHER=$SOURCE/sample/teacher
new_database resumed
"$PROGRAM" index new --model "$TEACHER" files.index 2>/dev/null
seq 300 | sed 's/.*/The train number & to Vienna is late./' >lines.txt
"$PROGRAM" index add files.index lines.txt "$SOURCE/sample/documents" 2>/dev/null || fail "no index"
expect 0 index copy files.index --to "$ADDRESS?schema=whole"
dump whole >wanted

# The server ends the connection of the copy within a statement, in the middle of its rows: a trigger does it, once, and
# so does another that ends it where a batch begins.
cut() { # SCHEMA TABLE WHEN
  sql -c "CREATE SEQUENCE $1.calls" \
    -c "CREATE FUNCTION $1.cut() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
          IF nextval('$1.calls') = $3 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NEW; END \$\$" \
    -c "CREATE TRIGGER cut BEFORE INSERT OR UPDATE ON $1.$2 FOR EACH ROW EXECUTE FUNCTION $1.cut()"
}
for where in "passage 100" "document 17" "words 60" "term 200" "calque_index 3"; do
  read -r table when <<<"$where"
  sql -c "DROP SCHEMA IF EXISTS parts CASCADE"
  "$PROGRAM" index new --model "$TEACHER" "$ADDRESS?schema=parts" 2>/dev/null || fail "no index"
  cut parts "$table" "$when"
  expect 1 index copy files.index --to "$ADDRESS?schema=parts" --batch 10
  grep -q "terminat\|closed the connection\|lost" stderr || fail "$table: the reason is not told"
  is_consistent parts
  n=$(sql -c "SELECT n_documents FROM parts.calque_index")
  [ "$n" -lt "$(sql -c 'SELECT n_documents FROM whole.calque_index')" ] || fail "$table: nothing was cut off"
  sql -c "DROP TRIGGER cut ON parts.$table" -c "DROP FUNCTION parts.cut" -c "DROP SEQUENCE parts.calls"
  expect 0 index copy files.index --to "$ADDRESS?schema=parts" --batch 13
  [ "$n" -eq 0 ] || stderr_has "resumed: copied the last"
  is_consistent parts
  dump parts >got
  same wanted got
done

# another index of as many documents is no rest of the copy that was cut off
for name in first second; do
  seq 300 | awk -v name=$name '{ print "{\"id\":\"" name "-" $1 "\",\"text\":\"The " name " number " $1 ".\"}" }' >$name.jsonl
  "$PROGRAM" index new --model "$TEACHER" $name.index 2>/dev/null
  "$PROGRAM" index add $name.index $name.jsonl 2>/dev/null || fail "no index"
done
sql -c "DROP SCHEMA IF EXISTS parts CASCADE"
"$PROGRAM" index new --model "$TEACHER" "$ADDRESS?schema=parts" 2>/dev/null || fail "no index"
cut parts document 201
expect 1 index copy first.index --to "$ADDRESS?schema=parts" --batch 50
sql -c "DROP TRIGGER cut ON parts.document"
[ "$(sql -c "SELECT count(*) FROM parts.document")" = 200 ] || fail "the copy was not cut off after 200 documents"
expect 0 index copy second.index --to "$ADDRESS?schema=parts" --batch 50
[ "$(sql -c "SELECT count(*) FROM parts.document WHERE id LIKE 'second-%'")" = 300 ] || fail "documents were left out"
is_consistent parts

# killed at some moments
for after in 0.02 0.06 0.1 0.15 0.2; do
  sql -c "DROP SCHEMA IF EXISTS killed CASCADE"
  { timeout -s KILL $after "$PROGRAM" index copy files.index --to "$ADDRESS?schema=killed" --batch 3; } >/dev/null 2>&1
  expect 0 index copy files.index --to "$ADDRESS?schema=killed" --batch 50
  is_consistent killed
  dump killed >got
  same wanted got
done
finish
