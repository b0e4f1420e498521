# Servers over one database: the same answers, documents of the one seen by the other at once, a database that goes away
# and comes back, and no password anywhere.
. "$(dirname "$0")/common.sh"
. "$SOURCE/tests/postgresql/serve.sh"
TEACHER=$SOURCE/sample/teacher
new_database served
"$PROGRAM" index new --model "$TEACHER" files.index 2>/dev/null
"$PROGRAM" index add files.index "$SOURCE/sample/documents" 2>/dev/null || fail "no index"
expect 0 index copy files.index --to "$ADDRESS"
expect 2 serve files.index --store "$ADDRESS"
stderr_has "--store stands in place of an INDEX"
expect 2 serve --store files.index
stderr_has "--store takes an address, postgresql://"

SECRET="postgresql://calque:topsecret@127.0.0.1:$PGPORT/served"
start files files.index --threads 1
start one --store "$SECRET" --writable --threads 1
start two --store "$SECRET" --writable --threads 1
hits() { grep -o '"id":"[^"]*"\|"best":"[^"]*"' body; }
for query in "coffee" "repairing%20a%20bicycle"; do
  for mode in dense words hybrid; do
    is "$(code "$files/api/search?q=$query&mode=$mode&k=5")" 200
    hits >wanted
    is "$(code "$one/api/search?q=$query&mode=$mode&k=5")" 200
    hits >got
    same wanted got
  done
done
is "$(code "$one/api/info")" 200
has '"documents":48'
is "$(code "$one/api/map?n=100")" 200
has '"points"'
is "$(code "$one/health")" 200

# what the one has acknowledged, the other finds
is "$(code -X POST "$one/api/documents?name=a.jsonl" --data-binary '{"id":"p","text":"Pinguine am Südpol.","language":"de"}')" 200
has '"added":1'
is "$(code "$two/api/search?q=Pinguine&mode=words&k=1")" 200
has '"id":"p"'
is "$(code "$two/api/documents/p")" 200
has "Südpol"
is "$(code -X DELETE "$two/api/documents/p")" 200
is "$(code "$one/api/documents/p")" 404
is "$(code "$two/api/info")" 200
has '"documents":48'
is "$(code -X POST "$one/api/documents?name=a.jsonl" --data-binary '{"id":"n","text":"a\u0000b"}')" 422

# connections that are cut while they wait are replaced
sql -c "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'served'" >/dev/null
is "$(code "$one/api/search?q=coffee")" 200

# the database goes, and comes back
stop_server
is "$(code "$one/api/search?q=coffee")" 503
has "postgresql://127.0.0.1"
is "$(code -X POST "$one/api/documents?name=a.jsonl" --data-binary '{"id":"q","text":"Quallen im Meer."}')" 503
sleep 1.1
is "$(code "$one/health")" 503
is "$(code "$one/api/info")" 503
is "$(code -X POST "$one/embed" -H 'Content-Type: application/json' -d '{"inputs":"A dog."}')" 200
start_server || fail "the server does not start again"
for _ in $(seq 100); do
  [ "$(code "$one/health")" = 200 ] && break
  sleep 0.1
done
is "$(code "$one/health")" 200
is "$(code "$one/api/search?q=coffee")" 200
is "$(code -X POST "$one/api/documents?name=a.jsonl" --data-binary '{"id":"q","text":"Quallen im Meer."}')" 200
is "$(code "$two/api/documents/q")" 200
is_consistent

kill "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
grep -l topsecret ./*.out ./*.err ./*.access body && fail "a password is shown"
finish
