#!/usr/bin/env bash
# calque serve FOLDER and FILE: what changes while it is served is found, what fails is reported once, and documents'
# files are given out.
. "$2/tests/cli/common.sh"

# start OPTION...: a server on any free port.
start() {
  : >"$tmp/address"
  "$PROGRAM" serve --model "$TEACHER" --port 0 --threads 2 "$@" >"$tmp/address" 2>"$tmp/server" &
  server=$!
  for _ in $(seq 300); do
    port=$(sed -n 's|listening on http://127.0.0.1:||p' "$tmp/address")
    [ -z "$port" ] || return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  cat "$tmp/server"
  fail "the server does not start"
  exit 1
}
stop() {
  kill -TERM "$server"
  wait "$server" || fail "the server ended with $?"
}
trap 'kill "${server:-0}" 2>/dev/null; chmod -R u+rwx "$tmp"; rm -rf "$tmp"' EXIT

# ask METHOD PATH: the answer's headers and body in $tmp/answer.
ask() {
  last="$1 $2"
  exec 9<>"/dev/tcp/127.0.0.1/$port" || { fail "no connection"; return; }
  printf '%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n' "$1" "$2" >&9
  timeout 20 cat <&9 >"$tmp/answer"
  exec 9>&- 9<&-
}
is() { head -n 1 "$tmp/answer" | grep -q "^HTTP/1.1 $1 " || fail "$last: expected $1, got $(head -n 1 "$tmp/answer"), $(tail -n 1 "$tmp/answer" | head -c 300)"; }
has() { grep -qF -- "$1" "$tmp/answer" || fail "$last: the answer lacks '$1': $(head -c 900 "$tmp/answer")"; }
# becomes CODE PATH [PART]: within some seconds.
becomes() {
  for _ in $(seq 300); do
    ask GET "$2"
    head -n 1 "$tmp/answer" | grep -q "^HTTP/1.1 $1 " && grep -qF -- "${3-}" "$tmp/answer" && return 0
    sleep 0.1
  done
  is "$1"; has "${3-}"
  fail "$2 does not become $1 ${3-}: $(cat "$tmp/server")"
}
told() { # PART: once
  for _ in $(seq 300); do
    grep -qF -- "$1" "$tmp/server" && break
    sleep 0.1
  done
  [ "$(grep -cF -- "$1" "$tmp/server")" = 1 ] || fail "not told once: '$1': $(cat "$tmp/server")"
}

export XDG_CACHE_HOME=$tmp/cache CALQUE_CACHE=
mkdir docs
printf 'A dog barks in the yard.\n' >docs/dog.txt
printf '{"id": "a:b", "text": "Rents are rising."}\n' >docs/news.jsonl
start docs
ask GET /api/search?q=dog; is 200; has '"dog.txt"'

# A new file, a changed one, one that takes another's place, a new folder, a renamed one, and one that is gone.
printf 'A cat sleeps on the sofa.\n' >docs/cat.txt
becomes 200 /api/documents/cat.txt sofa
printf 'A dog swims.\n' >docs/dog.txt
becomes 200 /api/documents/dog.txt swims
printf 'A dog runs.\n' >docs/.dog.tmp && mv docs/.dog.tmp docs/dog.txt
becomes 200 /api/documents/dog.txt runs
mkdir -p docs/deep/er && printf 'A horse eats.\n' >docs/deep/er/horse.txt
becomes 200 /api/documents/deep%2Fer%2Fhorse.txt eats
mv docs/deep docs/low && printf 'A cow.\n' >docs/low/er/cow.txt
becomes 200 /api/documents/low%2Fer%2Fcow.txt cow
becomes 404 /api/documents/deep%2Fer%2Fhorse.txt
ask GET /api/documents/low%2Fer%2Fhorse.txt; is 200
rm docs/cat.txt
becomes 404 /api/documents/cat.txt
ask GET '/api/search?q=horse&mode=words'; is 200; has 'low/er/horse.txt'

# Files: text is shown, what could run is not, and only documents of the index have one.
printf '<html><title>Page</title><p>A page of the <script>alert(1)</script> web.</html>\n' >docs/page.html
printf 'not indexed' >docs/.hidden
printf 'A hash.\n' >'docs/a#b.txt'
becomes 200 /api/documents/page.html web
ask GET /api/files/low%2Fer%2Fcow.txt; is 200; has 'A cow.'; has 'Content-Type: text/plain; charset=utf-8'
has "Content-Disposition: inline; filename*=UTF-8''cow.txt"; has nosniff; has "sandbox"
ask HEAD /api/files/low%2Fer%2Fcow.txt; is 200
ask GET /api/files/news.jsonl%23a:b; is 200; has '"Rents are rising."'; has "filename*=UTF-8''news.jsonl"
ask GET /api/files/page.html; is 200; has 'Content-Type: text/html'; has 'Content-Disposition: attachment'
becomes 200 /api/files/a%23b.txt 'A hash.'
for path in .hidden news.jsonl ..%2F..%2Fetc%2Fpasswd %2Fetc%2Fpasswd low%2F..%2Fdog.txt low nowhere.txt; do
  ask GET "/api/files/$path"; is 404
done
ask POST /api/files/dog.txt; is 405
# A document's ID may look like another path.
printf '{"id": "../../outside.txt:1", "text": "A sly id."}\n' >docs/sly.jsonl
printf 'a secret\n' >outside.txt
becomes 200 /api/files/sly.jsonl%23..%2F..%2Foutside.txt:1 'A sly id.'
grep -q secret "$tmp/answer" && fail "a file outside of the folder was given out"

# A file that cannot be read leaves what the index has.
if [ "$(id -u)" != 0 ]; then
  chmod 0 docs/dog.txt && printf 'A goat.\n' >docs/goat.txt
  becomes 200 /api/documents/goat.txt goat
  ask GET /api/documents/dog.txt; is 200; has runs
  ask GET /api/files/dog.txt; is 200; has runs
  chmod 644 docs/dog.txt
fi
printf '{"id": "bad", "text": \n' >docs/bad.jsonl
told "bad.jsonl:1"
ask GET '/api/search?q=cow'; is 200; has 'cow.txt'

# The folder is deleted: answers go on, reported once; another folder in its place is indexed.
mv docs gone && rm -rf gone
told "docs: cannot be opened; answers go on from the last complete index"
ask GET '/api/search?q=cow'; is 200; has 'cow.txt'
ask GET '/api/search?q=cow&mode=words'; is 200; has 'cow.txt'
ask GET /api/documents/dog.txt; is 200; has runs
ask GET /api/files/dog.txt; is 200; has runs
mkdir docs && printf 'A walrus naps.\n' >docs/walrus.txt
becomes 200 /api/documents/walrus.txt walrus
ask GET '/api/search?q=cow'; is 200; has walrus.txt
becomes 404 /api/documents/dog.txt

# The last document is deleted: nothing is found, also after other changes; then another one comes.
rm docs/walrus.txt
becomes 404 /api/documents/walrus.txt
ask GET '/api/search?q=walrus'; is 200; grep -q walrus.txt "$tmp/answer" && fail "a deleted document is found"
ask GET '/api/search?q=walrus&mode=words'; is 200; grep -q walrus.txt "$tmp/answer" && fail "a deleted document is found"
mkdir docs/low && printf 'A seal naps.\n' >docs/low/seal.txt
becomes 200 /api/documents/low%2Fseal.txt seal
rm docs/low/seal.txt
becomes 404 /api/documents/low%2Fseal.txt
[ "$(grep -c 'answers go on' "$tmp/server")" = 1 ] || fail "an empty folder is reported as a failure: $(cat "$tmp/server")"
stop
expect 0 search docs "a seal"
stdout_is_empty
stderr_has "the index has 0"

# The disk is full, as for who may write no larger files.
printf 'A walrus naps.\n' >docs/walrus.txt
real=$PROGRAM
printf '#!/bin/bash\nulimit -f 600\ntrap "" XFSZ\nexec %q "$@"\n' "$real" >limited && chmod +x limited
PROGRAM=$tmp/limited start docs
for i in $(seq 60); do head -c 12000 /dev/urandom | base64 -w 60 >"docs/noise$i.txt"; done
told "; answers go on from the last complete index"
ask GET '/api/search?q=walrus'; is 200; has walrus.txt
ask GET /api/documents/walrus.txt; is 200
rm docs/noise*.txt && printf 'A seal.\n' >docs/seal.txt
becomes 200 /api/documents/seal.txt seal
stop

# A file is served like a folder, and followed.
printf '{"id": "m1", "text": "The meeting is on Monday."}\n' >memory.jsonl
start memory.jsonl
ask GET '/api/search?q=meeting'; is 200; has '"memory.jsonl#m1"'
printf '{"id": "m2", "text": "The cake is in the kitchen."}\n' >>memory.jsonl
becomes 200 /api/documents/memory.jsonl%23m2 kitchen
ask GET /api/files/memory.jsonl%23m2; is 200; has Monday
: >memory.jsonl
becomes 404 /api/documents/memory.jsonl%23m2
printf '{"id": "m1", "text": "The meeting is on Monday."}\n{"id": "m2", "text": "The cake is in the kitchen."}\n' >memory.jsonl
becomes 200 /api/documents/memory.jsonl%23m2 kitchen
stop
[ ! -e .calque ] && [ ! -e memory.jsonl.calque ] || fail "the index is beside the file"
expect 0 search memory.jsonl "a cake"
stdout_has "memory.jsonl#m2"
lines_are "$tmp/stderr" 1
stderr_has "nothing changed, the index has 2 documents"
expect 0 search docs "a seal"
expect 0 search docs "a seal"
lines_are "$tmp/stderr" 1

# A file in no format of documents.
head -c 3000 /dev/urandom >noise.bin
expect 1 search noise.bin "a cake" --model "$TEACHER"
stderr_has "noise.bin: no document in it can be read"
exit $((failures > 0))
