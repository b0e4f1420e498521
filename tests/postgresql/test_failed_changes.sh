# A change that fails leaves nothing behind: what another server has acknowledged since then stays, and a document that
# the database refuses is its own client's affair.
. "$(dirname "$0")/common.sh"
. "$SOURCE/tests/postgresql/serve.sh"
TEACHER=$SOURCE/sample/teacher
new_database failed_changes
expect 0 index new --model "$TEACHER" "$ADDRESS"

put() { code -X PUT "$1/api/documents/$2" -H 'Content-Type: application/json' -d "$3"; }
healthy() {
  for _ in $(seq 100); do
    [ "$(code "$1/health")" = 200 ] && return
    sleep 0.1
  done
  fail "the server does not come back"
}

start one --store "$ADDRESS" --writable --threads 2
start two --store "$ADDRESS" --writable --threads 2
is "$(put "$one" x '{"text":"version zero"}')" 200 "x"

# an outage
stop_server
is "$(put "$one" x '{"text":"version one"}')" 503 "x during an outage"
start_server || fail "the server does not start again"
healthy "$one"
healthy "$two"
is "$(put "$two" x '{"text":"version two"}')" 200 "x at the other"
is "$(put "$one" y '{"text":"another"}')" 200 "y"
is "$(code "$two/api/documents/x")" 200 "x"
has "version two"

# a deletion that does not get its lock
sql -c "CREATE FUNCTION calque.refuse() RETURNS trigger LANGUAGE plpgsql AS
        \$\$ BEGIN RAISE EXCEPTION 'canceling statement due to lock timeout' USING ERRCODE = '55P03'; END \$\$" \
  -c "CREATE TRIGGER refuse BEFORE DELETE ON calque.document FOR EACH ROW EXECUTE FUNCTION calque.refuse()"
is "$(code -X DELETE "$one/api/documents/x")" 503 "deleting x"
sql -c "DROP TRIGGER refuse ON calque.document"
is "$(put "$two" x '{"text":"version three"}')" 200 "x at the other"
is "$(put "$one" z '{"text":"yet another"}')" 200 "z"
is "$(code "$two/api/documents/x")" 200 "x"
has "version three"

# refused for good: the others go on, and see nothing of it
sql -c "ALTER TABLE calque.document ADD CHECK (title <> 'bad')"
is "$(put "$one" q '{"text":"a confidential text","title":"bad"}')" 422 "a refused document"
grep -q confidential body && fail "the message has the document: $(cat body)"
is "$(put "$one" r '{"text":"a good one"}')" 200 "the next document"
is "$(code "$one/api/documents/q")" 404 "the refused document"
is "$(put "$one" q '{"text":"a good one"}')" 200 "the refused document, mended"

# a server that only reads, as a standby does, is away for changes: 503, and no fault of the document
read_only() {
  PGDATABASE=postgres sql -c "ALTER DATABASE failed_changes SET default_transaction_read_only = $1" \
    -c "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = 'failed_changes'" >/dev/null
}
read_only on
is "$(put "$one" s '{"text":"a good one"}')" 503 "a server that only reads"
is "$(code "$one/api/documents/x")" 200 "reading there"
read_only off
is "$(put "$one" s '{"text":"a good one"}')" 200 "a server that writes again"

# many at once: whoever is told 200 has been added, whoever is told something else has not
curls=()
for i in $(seq 30); do
  title=good
  [ $((i % 3)) -ne 0 ] || title=bad
  curl -s -m 30 -o "answer-$i" -w '%{http_code}' -X PUT "$one/api/documents/many-$i" -H 'Content-Type: application/json' \
    -d "{\"text\":\"document $i\",\"title\":\"$title\"}" >"code-$i" &
  curls+=($!)
done
wait "${curls[@]}"
for i in $(seq 30); do
  expected=200 found=200
  [ $((i % 3)) -ne 0 ] || expected=422 found=404
  [ "$(cat "code-$i")" = $expected ] || fail "many-$i: $(cat "code-$i" "answer-$i")"
  is "$(code "$two/api/documents/many-$i")" $found "many-$i"
done
is_consistent
finish
