#!/usr/bin/env bash
# calque serve --mcp: the protocol's messages as plain lines, pages of a search, parts of a document, cancellation, mistakes,
# and a folder that changes while it is served.
. "$2/tests/cli/common.sh"

mkdir docs
printf 'A dog barks in the yard.\n' >docs/dog.txt
printf 'The cat sleeps on the sofa. \xc3\xa9t\xc3\xa9\n' >docs/cat.txt
for i in 1 2 3 4 5; do printf 'Rents rise in town %s.\n' $i >"docs/rent$i.txt"; done

message() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
hello() { # [VERSION]
  message "\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"${1:-2025-06-18}\",\"capabilities\":{}}"
  message '"method":"notifications/initialized"'
}
use() { message "\"id\":$1,\"method\":\"tools/call\",\"params\":{\"name\":\"$2\",\"arguments\":$3}"; } # ID TOOL ARGUMENTS
# The answer with an id in standard output, or in a file.
answer() { grep -F "{\"jsonrpc\":\"2.0\",\"id\":$1," "${2:-$tmp/stdout}"; }
has() { answer "$1" | grep -qF -- "$2" || fail "answer $1 lacks '$2': $(answer "$1" | head -c 400)"; }
none() { [ -z "$(answer "$1")" ] || fail "there is an answer $1: $(answer "$1" | head -c 400)"; }
ids() { answer "$1" | sed 's/.*"structuredContent"//' | grep -o '{"id":"[^"]*"' | cut -d '"' -f 4; }

# Versions: the client's, or the newest that is not newer.
for pair in 2024-11-05:2024-11-05 2025-03-26:2024-11-05 2025-06-18:2025-06-18 2025-11-25:2025-11-25 \
  2030-01-01:2025-11-25 2020-01-01:2024-11-05; do
  hello "${pair%:*}" >in
  expect_from in 0 serve --mcp --model "$TEACHER"
  has 0 "\"protocolVersion\":\"${pair#*:}\""
  lines_are "$tmp/stdout" 1
done

# A model alone has one tool. What is no request, and what no tool is for, are errors of JSON-RPC.
{
  message '"id":1,"method":"ping"'
  message '"id":2,"method":"tools/list"'
  message '"id":3,"method":"initialize","params":{}'
  hello
  message '"id":4,"method":"tools/list"'
  message '"id":5,"method":"tools/list","params":{"cursor":"x"}'
  message '"id":6,"method":"resources/list"'
  use 7 search '{"query":"dog"}'
  use 8 similarity '{"texts":["A dog barks.","A cat."]}'
  use 9 similarity '{"texts":[]}'
  use 10 similarity '{"text":["A dog barks."]}'
  use 11 similarity "{\"texts\":[$(seq -s , 101 | sed 's/[0-9]*/"&"/g')]}"
  message '"id":12,"method":"tools/call","params":{"name":"similarity","arguments":[1]}'
  message '"id":13,"method":"tools/call","params":[1]'
  message '"id":14,"method":"tools/call","params":{"name":7}'
  message '"id":1.5,"method":"ping"'
  message '"id":15'
  message '"id":16,"result":{}'
  message '"method":"notifications/unknown"'
  echo '{"jsonrpc":"1.0","id":17,"method":"ping"}'
  echo '[{"jsonrpc":"2.0","id":18,"method":"ping"}]'
  echo
  echo '{"jsonrpc":"2.0","id":19,"method":'
  printf '{"jsonrpc":"2.0","id":20,"method":"p\xff"}\n'
  printf '{"jsonrpc":"2.0","id":"last","method":"ping"}'
} >in
expect_from in 0 serve --mcp --model "$TEACHER"
stderr_is_empty
has 1 '"result":{}'
has 2 '"error":{"code":-32600,"message":"the first request is not '
has 3 '"code":-32602'
has 4 '"name":"similarity"'
answer 4 | grep -q '"name":"\(search\|read\)"' && fail "there are tools for no index"
has 5 '"code":-32602'
has 6 '"code":-32601,"message":"there is no method '\''resources/list'
has 7 '"code":-32602,"message":"there is no tool '\''search'
cosine=$("$PROGRAM" similarity --model "$TEACHER" --json 'A dog barks.' 'A cat.' | grep -o 'similarity": [0-9.-]*' | cut -d ' ' -f 2)
has 8 "\"structuredContent\":{\"similarity\":[[1.000000,$cosine],[$cosine,1.000000]],\"truncated\":0},\"isError\":false"
has 9 "'texts' is an empty list\"}],\"isError\":true"
has 10 "unknown field 'text', expected texts\"}],\"isError\":true"
has 11 "'texts' has 101 texts, the limit of one request is 100\"}],\"isError\":true"
has 12 '"code":-32602'
has 13 '"code":-32602'
has 14 '"code":-32602'
has 15 '"code":-32600'
none 16
has 17 '"code":-32600'
none 18
[ "$(answer null | grep -c '"code":-32600')" -eq 2 ] || fail "not two refusals of an id and a batch"
[ "$(answer null | grep -c '"code":-32700')" -eq 2 ] || fail "not two lines that are not JSON"
has '"last"' '"result":{}'
lines_are "$tmp/stdout" 22

# A folder: pages that join to one, parts of a document, mistakes of arguments.
{
  hello
  use 1 search '{"query":"rents","mode":"dense","k":7}'
  use 2 search '{"query":"rents","mode":"dense","k":4}'
  use 3 search '{"query":"rents","mode":"dense","k":4,"offset":4}'
  use 4 search '{"query":"rents","offset":100}'
  use 5 search '{"query":"dog","filter":"year >"}'
  use 6 search '{"query":"dog","offset":-1}'
  use 7 search '{"query":""}'
  use 8 read '{"id":"dog.txt"}'
  use 9 read '{"id":"dog.txt","begin":2,"end":5}'
  use 10 read '{"id":"cat.txt","begin":29,"end":32}'
  use 11 read '{"id":"cow.txt"}'
  use 12 read '{"id":"dog.txt","begin":500}'
  use 13 read '{"id":"dog.txt","begin":5,"end":5}'
  use 14 read '{}'
  message '"id":15,"method":"tools/list"'
} >in
expect_from in 0 serve --mcp docs --model "$TEACHER"
stderr_has "added or changed: 7, removed: 0, the index has 7"
[ "$(ids 1 | wc -l)" -eq 7 ] || fail "not seven hits"
[ "$(ids 1)" = "$(ids 2; ids 3)" ] || fail "two pages are not the whole: $(ids 2; ids 3)"
has 2 '"offset":0,"next_offset":4'
answer 1 | grep -q next_offset && fail "a whole answer has a next page"
answer 3 | grep -q next_offset && fail "the last page has a next one"
[ "$("$PROGRAM" search docs rents --ranking dense --top 7 2>/dev/null | cut -f 2)" = "$(ids 1)" ] || fail "calque search finds others"
has 4 '"hits":[]'
has 5 '"isError":true'
has 6 "'offset' is not a whole number from 0 to 800\"}],\"isError\":true"
has 7 "'query' is empty"
has 8 '"text":"A dog barks in the yard.'
has 8 '"begin":0,"end":2'
has 9 '"text":"dog","begin":2,"end":5,"bytes":2'
has 9 '"next_begin":5'
has 10 '"text":"ét","begin":28,"end":31'
has 11 "there is no document 'cow.txt'\"}],\"isError\":true"
has 12 "'begin' is 500, but the text has 2"
has 13 "'end' is 5, which is not after 'begin', 5"
has 14 "'id' is missing"
has 15 '"required":["query"]'
has 15 '"name":"read"'

# Messages of 16 MB: refused beyond --max-body, and the next one is read; within it, taken.
{ hello; printf '{"jsonrpc":"2.0","id":1,"x":"'; head -c 16000000 /dev/zero | tr '\0' x; echo '","method":"ping"}'; message '"id":2,"method":"ping"'; } >in
expect_from in 0 serve --mcp --model "$TEACHER"
has null '"code":-32600,"message":"the message has more than 8388608 bytes (--max-body)"'
has 2 '"result":{}'
lines_are "$tmp/stdout" 3
expect_from in 0 serve --mcp --model "$TEACHER" --max-body 17000000
has 1 '"result":{}'
lines_are "$tmp/stdout" 3

# Clients that go away: before a word, in the middle of a message, and without reading the answers.
expect 0 serve --mcp docs
stdout_is_empty
hello | head -c 40 >in
expect_from in 0 serve --mcp docs
has null '"code":-32700'
mkfifo wide
sleep 600 >wide &
sleeper=$!
(
  timeout 120 "$PROGRAM" serve --mcp docs <wide 2>"$tmp/stderr"
  echo $? >code
) | head -c 1 >/dev/null &
hello >wide
wait $!
for _ in $(seq 600); do [ ! -s code ] || break; sleep 0.1; done
[ "$(cat code)" = 0 ] || fail "the program ends with '$(cat code)' when nobody reads its answers"
kill $sleeper

# A folder that changes, is deleted, and comes back; a call that is cancelled while it waits.
mkfifo to
"$PROGRAM" serve --mcp docs <to >out 2>"$tmp/stderr" &
server=$!
exec 9>to
wait_for() { # ID
  for _ in $(seq 600); do
    [ -z "$(answer "$1" out)" ] || { cp out "$tmp/stdout"; return; }
    sleep 0.1
  done
  fail "no answer $1"
}
hello >&9
use 1 search '{"query":"dog","mode":"dense"}' >&9
wait_for 1
printf 'A dog barks at the postman.\n' >docs/dog.txt
printf 'A horse.\n' >docs/horse.txt
rm docs/cat.txt
{ use 2 read '{"id":"horse.txt"}'; use 3 read '{"id":"dog.txt"}'; use 4 read '{"id":"cat.txt"}'; } >&9
wait_for 4
has 2 '"text":"A horse.'
has 3 'postman'
has 4 "there is no document 'cat.txt'"
mv docs gone
use 5 search '{"query":"dog"}' >&9
wait_for 5
has 5 'cannot be opened"}],"isError":true'
mv gone docs
use 6 read '{"id":"horse.txt"}' >&9
wait_for 6
has 6 '"text":"A horse.'
rm -r docs/.calque
use 7 read '{"id":"horse.txt"}' >&9
wait_for 7
has 7 '"text":"A horse.'
many=$(seq -s , 100 | sed 's/[0-9]*/"A text of the number &"/g')
{
  use 8 similarity "{\"texts\":[$many]}"
  use 9 search '{"query":"cat"}'
  message '"method":"notifications/cancelled","params":{"requestId":9}'
  message '"method":"notifications/cancelled","params":{"requestId":"unknown"}'
  message '"method":"notifications/cancelled"'
  use 10 search '{"query":"cat"}'
} >&9
wait_for 10
has 8 '"truncated":0},"isError":false'
none 9
exec 9>&-
wait $server || fail "the program ends with $? at the end of its input"

# What --mcp does not go with; a model that cannot be opened.
expect 2 serve --mcp docs --access-log -
stderr_has "--mcp serves who starts it"
expect 1 serve --mcp --model nowhere
stderr_has "nowhere"
stdout_is_empty
finish
