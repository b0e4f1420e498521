# What is refused: another database, model, dimension or version, passwords, texts that PostgreSQL cannot keep; and
# copies that are cut off.
. "$(dirname "$0")/common.sh"
TEACHER=$SOURCE/sample/teacher
new_database bad
"$PROGRAM" index new --model "$TEACHER" files.index 2>/dev/null
"$PROGRAM" index add files.index "$SOURCE/sample/documents" 2>/dev/null || fail "no index"

expect 1 index info "$ADDRESS"
stderr_has "there is no index in the schema 'calque'"
expect 1 index copy files.index --to "$ADDRESS?schema="
stderr_has "schema= has 1 to 63 bytes"
expect 1 index copy files.index --to somewhere
stderr_has "an index can be copied to postgresql://... only"
expect 2 index copy files.index
stderr_has "--to"
expect 1 index info "$ADDRESS?sslmode=maybe"
expect 1 index info "postgresql://calque:secret@[x/bad"
stderr_has "libpq cannot read the address"
grep -q secret stderr && fail "the password is shown"

expect 0 index new --model "$TEACHER" "postgresql://calque:secret@127.0.0.1:$PGPORT/bad?schema=shown"
grep -q secret stderr && fail "the password is shown"

# passwords that are not escaped: as libpq takes them, or refused; and libpq's messages that quote the address
hides() { # ADDRESS MESSAGE: no part of it that has "hush" is shown
  expect 1 index info "$1"
  stderr_has "$2"
  ! grep -q hush stderr || fail "a part of the password is shown: $(cat stderr)"
}
hides 'postgresql://me:hu?shush@127.0.0.1:1/db' "postgresql://127.0.0.1:1/db: "
hides 'postgresql://me:hush/rest@127.0.0.1:1/db' "%2F for a slash"
hides 'postgresql://me:hush@hush@127.0.0.1:1/db' "%40 stands for @"
hides 'postgresql://127.0.0.1:1/db?password=hush@x' "%40 stands for @"
hides 'postgresql://me:hush' "its port is not a number"
hides 'postgresql://h:1,[::1]:2,me:hush/db' "its port is not a number"
hides 'postgresql://127.0.0.1:1/db?port=hush' "libpq cannot connect with the options"
hides 'postgresql://127.0.0.1:1/db?sslmode=hush' "libpq cannot connect with the options"
expect 1 index info 'postgresql://[::1]:1,127.0.0.1:1/db'
stderr_has "postgresql://[::1]:1,127.0.0.1:1/db: "

# nobody there; a wrong password; a name that is none
expect 1 index info "postgresql://calque:secret@127.0.0.1:1/bad?password=secret"
stderr_has "postgresql://127.0.0.1:1/bad: "
grep -q secret stderr && fail "the password is shown"
sql -c "CREATE ROLE locked LOGIN PASSWORD 'right'"
expect 1 index info "postgresql://locked:wrong@127.0.0.1:$PGPORT/bad"
stderr_has "password authentication failed"
grep -q wrong stderr && fail "the password is shown"
PGPASSWORD=wrong expect 1 index info "postgresql://locked@127.0.0.1:$PGPORT/bad"
stderr_has "password authentication failed"
expect 1 index info "$CALQUE_POSTGRESQL/nowhere"
stderr_has 'database "nowhere" does not exist'

# a password that is right, as libpq takes it: in the environment, a file, a service
expect 0 index copy files.index --to "$ADDRESS"
sql -c "GRANT USAGE ON SCHEMA calque TO locked" -c "GRANT SELECT ON ALL TABLES IN SCHEMA calque TO locked"
PGPASSWORD=right expect 0 index info "postgresql://locked@127.0.0.1:$PGPORT/bad"
echo "127.0.0.1:$PGPORT:bad:locked:right" >passwords
chmod 600 passwords
PGPASSFILE=$PWD/passwords expect 0 index info "postgresql://locked@127.0.0.1:$PGPORT/bad"
printf '[news]\nhost=127.0.0.1\nport=%s\nuser=locked\npassword=right\ndbname=bad\n' "$PGPORT" >services
PGSERVICEFILE=$PWD/services expect 0 index info "postgresql:///?service=news"
# who may only read is told so
echo '{"id":"new","text":"A cat."}' >more.jsonl
PGPASSWORD=right expect 1 index add "postgresql://locked@127.0.0.1:$PGPORT/bad" more.jsonl
stderr_has "permission denied"

# another model; another dimension, in calque_index and in the column
"$PROGRAM" index new --model "$SOURCE/tests/golden/models/bert-uncased" other.index 2>/dev/null || fail "no other index"
expect 1 index copy other.index --to "$ADDRESS"
stderr_has "dimensions, other.index of"
sql -c "UPDATE calque.calque_index SET fingerprint = 'x'"
expect 1 index copy files.index --to "$ADDRESS"
stderr_has "is of another model than files.index"
expect 1 search "$ADDRESS" coffee
stderr_has "was made with another model"
sql -c "DROP SCHEMA calque CASCADE"
expect 0 index copy files.index --to "$ADDRESS"
sql -c "UPDATE calque.calque_index SET dim = 7"
expect 1 search "$ADDRESS" coffee
stderr_has "passage.embedding has 128 dimensions, the index 7"
sql -c "UPDATE calque.calque_index SET dim = 128, version = 9"
expect 1 search "$ADDRESS" coffee
stderr_has "of version 9"
expect 1 index copy files.index --to "$ADDRESS"
stderr_has "of version 9"
sql -c "DROP SCHEMA calque CASCADE" -c "CREATE SCHEMA calque" -c "CREATE TABLE calque.calque_index (a int)"
expect 1 index info "$ADDRESS"
stderr_has "is not calque's"
expect 1 index copy files.index --to "$ADDRESS"
stderr_has "is not calque's"
sql -c "DROP SCHEMA calque CASCADE" -c "CREATE SCHEMA calque" -c "CREATE TABLE calque.document (a int)"
expect 1 index copy files.index --to "$ADDRESS"
stderr_has "has such tables already"
sql -c "DROP SCHEMA calque CASCADE"

# what PostgreSQL cannot keep
expect 0 index new --model "$TEACHER" "$ADDRESS"
printf '{"id":"z","text":"a\\u0000b"}\n' >zero.jsonl
expect 1 index add "$ADDRESS" zero.jsonl
grep -q "NUL\|u0000" stderr || fail "a NUL character is not named"
printf '{"id":"z","text":"a","m":"\\u0000"}\n' >zero.jsonl
expect 1 index add "$ADDRESS" zero.jsonl
grep -q "NUL\|u0000" stderr || fail "a NUL character is not named"
printf '{"id":"z","text":"a","m":"\\\\u0000"}\n' >zero.jsonl # a backslash, and four zeros
expect 0 index add "$ADDRESS" zero.jsonl
printf '{"id":"y","text":"a\xff"}\n' >bytes.jsonl
expect 1 index add "$ADDRESS" bytes.jsonl
printf 'twice\tone\ntwice\ttwo\n' >twice.tsv
expect 1 index add "$ADDRESS" --ids twice.tsv
stderr_has "'twice' appears twice"
head -c 3000 /dev/zero | tr '\0' i >long-id
printf '{"id":"%s","text":"a"}\n' "$(cat long-id)" >long.jsonl
expect 1 index add "$ADDRESS" long.jsonl
stderr_has "its id has 3000 bytes"
printf '{"id":"a","text":"a","language":"%s"}\n' "$(cat long-id)" >long.jsonl
expect 1 index add "$ADDRESS" long.jsonl
stderr_has "its language has 3000 bytes"
is_consistent
[ "$(sql -c 'SELECT count(*) FROM calque.document')" = 1 ] || fail "something was added"

# a server without pgvector
PGDATABASE=postgres sql -c "DROP DATABASE IF EXISTS plain" -c "CREATE DATABASE plain"
expect 1 index info "$CALQUE_POSTGRESQL/plain"
stderr_has "has no pgvector"
finish
