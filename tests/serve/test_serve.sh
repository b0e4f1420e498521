#!/usr/bin/env bash
# calque serve from outside, over bash's /dev/tcp: its interfaces, what it refuses and how, the same bits for many clients
# at once, slow and half-closed clients, reopening and draining.
. "$2/tests/cli/common.sh"

# start OPTION...: a server on any free port.
start() {
  rm -f "$tmp/address"
  : >"$tmp/address"
  "$PROGRAM" serve --model "$TEACHER" --port 0 --threads 2 "$@" >>"$tmp/address" 2>"$tmp/server" &
  server=$!
  for _ in $(seq 100); do
    port=$(sed -n 's|listening on http://127.0.0.1:||p' "$tmp/address")
    [ -z "$port" ] || return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  cat "$tmp/server"
  fail "the server does not start"
  exit 1
}
# stop: by SIGTERM, with exit code 0.
stop() {
  kill -TERM "$server"
  wait "$server"
  local code=$?
  [ "$code" -eq 0 ] || fail "the server ended with $code"
}
trap 'kill "${server:-0}" 2>/dev/null; rm -rf "$tmp"' EXIT

# ask METHOD PATH [BODY [HEADER]]: the answer's headers and body in $tmp/answer.
ask() {
  local body=${3-}
  last="$1 $2 ${body:0:200}"
  exec 9<>"/dev/tcp/127.0.0.1/$port" || { fail "no connection"; return; }
  printf '%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s' \
    "$1" "$2" "${host:-localhost}" "$(printf %s "$body" | wc -c)" "${4:+$4$'\r\n'}" "$body" >&9
  timeout 20 cat <&9 >"$tmp/answer"
  exec 9>&- 9<&-
}
is() { head -n 1 "$tmp/answer" | grep -q "^HTTP/1.1 $1 " || fail "expected $1, got $(head -n 1 "$tmp/answer"), $(tail -n 1 "$tmp/answer" | head -c 300)"; }
has() { grep -qF -- "$1" "$tmp/answer" || fail "the answer lacks '$1': $(tail -n 1 "$tmp/answer" | head -c 300)"; }
body_of_answer() { sed '1,/^\r$/d' "$tmp/answer"; }

# What others could reach needs a key.
expect 1 serve --model "$TEACHER" --port 0 --host 0.0.0.0
stderr_has "--insecure"
expect 1 serve --model nowhere --port 0
stderr_has "nowhere"

# What a killed server was reading is removed by the next; what a living process reads is not.
true &
wait $!
mkdir -p "$tmp/uploads/calque-upload.tmp-$!-0" "$tmp/uploads/calque-upload.tmp-$$-0"
touch "$tmp/uploads/calque-upload.tmp-$!-0/notes.md"
TMPDIR=$tmp/uploads start --access-log "$tmp/log" --max-body 20000 --max-tokens 2000
[ "$(ls "$tmp/uploads")" = "calque-upload.tmp-$$-0" ] || fail "what a killed server left: $(ls "$tmp/uploads")"
ask GET /health; is 200; has '"ok"'
expect 0 serve --health --port "$port"; stdout_is_empty
expect 0 serve --health --port "$port" --host 0.0.0.0
expect 1 serve --health --port 1; stderr_has "127.0.0.1, port 1: Connection refused"
expect 1 serve --health --host nowhere.invalid; stderr_has "nowhere.invalid, port 8080: "
ask GET /info; is 200; has '"max_input_length"'
ask GET /v1/models; is 200; has '"object":"list"'
ask GET /openapi.json; is 200; has '"/v1/embeddings"'
has '{"name":"q","in":"query","required":true,'; has '{"name":"id","in":"path",'; has 'application/octet-stream'
ask GET /; is 200; has "default-src 'none'"
ask HEAD /; is 200
ask GET /nowhere; is 404; has '"not_found"'
ask GET /../../etc/passwd; is 404
ask DELETE /embed; is 405
ask GET /embed; is 405; has "GET is not a method of /embed"
ask POST /nowhere '{}'; is 404; has '"not_found"'
ask PUT / '{}'; is 405
ask GET /metrics; is 200; has 'calque_requests_total{method="GET",route="/health",code="200"} 3'

# Vectors: by text and by token ids, the same.
ask POST /embed '{"inputs": "The river is long."}'; is 200; has "X-Calque-Truncated: 0"
body_of_answer >"$tmp/alone"
ask POST / '{"inputs": "The river is long."}'; is 200; body_of_answer | cmp - "$tmp/alone"
ask POST /tokenize '{"inputs": "The river is long."}'; is 200
ids=$(grep -o '"id":[0-9]*' "$tmp/answer" | cut -d: -f2 | paste -sd,)
ask POST /embed "{\"inputs\": [[$ids]]}"; is 200
body_of_answer >"$tmp/by_ids"
same "$tmp/alone" "$tmp/by_ids"
ask POST /v1/embeddings '{"input": ["a river", "a garden"], "dimensions": 4, "unknown": 1}'; is 200
has '"index":1'; has '"usage":{"prompt_tokens":'; has '"calque":{"truncated":0}'
ask POST /v1/embeddings '{"input": "a", "encoding_format": "base64"}'; is 200; has '"embedding":"'
ask POST /similarity '{"inputs": {"source_sentence": "a river", "sentences": ["a river", "a garden"]}}'; is 200; has '[1.0,'
ask POST /api/similarity '{"a": ["a river"], "b": ["a river"]}'; is 200; has '"similarity":[[1.0]]'
ask POST /api/mine '{"source": ["a river", "the garden"], "target": ["the garden", "a river"]}'; is 200
has '"source_index":0,"target_index":1'
ask POST /api/map '{"texts": ["a", "river", "the garden"]}'; is 200; has '"points":[{"x":'

# A text longer than the model takes.
long=$(printf 'river %.0s' $(seq 300))
ask POST /embed "{\"inputs\": \"$long\"}"; is 200; has "X-Calque-Truncated: 1"
ask POST /embed "{\"inputs\": \"$long\", \"truncate\": false}"; is 413; has "is longer than the model's"
ask POST /embed "{\"inputs\": \"$long\", \"on_long\": \"window\"}"; is 200; has "X-Calque-Truncated: 0"
ask POST /v1/embeddings "{\"input\": \"$long\", \"on_long\": \"error\"}"; is 400; has context_length_exceeded

# What is refused, and its place.
ask POST /embed ''; is 400; has "body is empty"
ask POST /embed '{"inputs": [1, "a"]}'; is 422; has "token 1 of 'inputs'"
ask POST /embed '{"inputs": ["a", 2.5]}'; is 422; has "'inputs[1]'"
ask POST /embed '{"inputs": ["a", ""]}'; is 422; has "'inputs[1]' is empty"
ask POST /embed '{"inputs": []}'; is 422; has "empty list"
ask POST /embed '{"inputs": [[99999999]]}'; is 422; has "'inputs[0]'"
ask POST /embed '[]'; is 422
ask POST /embed "{\"inputs\": \"$(printf '\377')\"}"; is 400; has "not JSON"
ask POST /v1/embeddings '{"input": {}}'; is 400; has '"param":"input"'
ask POST /v1/embeddings '{"input": "a", "dimensions": 100000}'; is 400; has '"param":"dimensions"'
ask POST /api/similarity '{"a": ["x"], "b": ["y"], "c": 1}'; is 422; has "unknown field 'c'"
ask POST /embed "$(printf '[%.0s' $(seq 19000))"; is 400; has "not JSON"
ask POST /embed "{\"inputs\": \"$(printf 'a%.0s' $(seq 20001))\"}"; is 413; has "20000 bytes (--max-body)"
ask POST /embed "{\"inputs\": [$(printf '"a a a a a a a a a a",%.0s' $(seq 400))\"a\"]}"; is 413; has "--max-tokens"
ask POST /embed '{"inputs": "a"}' 'Origin: http://elsewhere'; is 403
ask POST /embed '{"inputs": "a"}' 'Sec-Fetch-Site: cross-site'; is 403
host=rebound.example ask GET /health; is 403; has "rebound.example"
host=127.0.0.1:1:evil ask GET /health; is 403
ask GET /health%00/x; is 422; has "NUL"
ask GET '/api/search?q=a%00b'; is 422; has "NUL"
body='{"inputs": ["a river", "b"], "normalize": true}'
for ((i = 0; i < ${#body}; i++)); do ask POST /embed "${body:0:i}"; is 400; done

# Malformed chunks: an error or a closed connection, and the server lives.
exec 9<>"/dev/tcp/127.0.0.1/$port"
printf 'POST /embed HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n' >&9
timeout 10 cat <&9 >"$tmp/answer" || fail "a malformed chunk keeps its connection"
exec 9>&- 9<&-

# Connections that send their requests byte by byte hold nobody up.
for fd in 20 21 22 23 24 25; do
  eval "exec $fd<>/dev/tcp/127.0.0.1/$port"
  eval "printf 'POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{' >&$fd"
done
for _ in 1 2 3; do
  ask POST /embed '{"inputs": "The river is long."}'; is 200
  for fd in 20 21 22 23 24 25; do eval "printf ' ' >&$fd"; done
done
for fd in 20 21 22 23 24 25; do eval "exec $fd>&- $fd<&-"; done

# The same text alone and among 64 clients: the same bits.
clients=()
for i in $(seq 64); do
  (
    tmp=$tmp/client$i
    mkdir "$tmp"
    if ((i % 2)); then text="The river is long."; else text="a garden $i the late $long"; fi
    ask POST /embed "{\"inputs\": \"$text\"}"
    is 200
    body_of_answer >"$tmp/vector"
  ) &
  clients+=($!)
done
wait "${clients[@]}"
for i in $(seq 1 2 64); do same "$tmp/alone" "$tmp/client$i/vector"; done

# SIGHUP opens the model again while requests come.
for i in 1 2 3; do
  kill -HUP "$server"
  for _ in 1 2 3 4; do ask POST /embed '{"inputs": "The river is long."}'; is 200; done
done
body_of_answer | cmp -s - "$tmp/alone" || fail "another vector after reopening"
stop
last="serve"
grep -q '"path":"/embed","status":200' "$tmp/log" || fail "the access log lacks a request"
grep -q 'river' "$tmp/log" && fail "the access log has a text"
grep -q 'reopened' "$tmp/server" || fail "nothing was opened again"

# Pages of other origins, and what a browser asks before.
expect 1 serve --model "$TEACHER" --port 0 --cors example.org
stderr_has "--cors is 'example.org', expected SCHEME://HOST"
printf 'first\n' >"$tmp/key"
start --cors https://example.org,app://obsidian.md --api-key-file "$tmp/key"
lacks() { ! grep -qiF -- "$1" "$tmp/answer" || fail "the answer has '$1'"; }
asked=$'\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization,x-stainless-os'
ask OPTIONS /v1/embeddings '' "Origin: app://obsidian.md$asked"
is 204; has "Access-Control-Allow-Origin: app://obsidian.md"; has "Access-Control-Allow-Methods: POST, OPTIONS"
has "Access-Control-Allow-Headers: authorization,x-stainless-os"; has "Vary: Origin"
has "Access-Control-Max-Age: "; lacks "Allow-Private-Network"
ask OPTIONS /api/tags '' $'Origin: https://example.org\r\nAccess-Control-Request-Private-Network: true'
is 204; has "Access-Control-Allow-Methods: GET, HEAD, OPTIONS"; has "Access-Control-Allow-Private-Network: true"
ask POST /embed '{"inputs": "a"}' $'Origin: https://example.org\r\nAuthorization: Bearer first'
is 200; has "Access-Control-Allow-Origin: https://example.org"; has "Expose-Headers: X-Calque-Truncated"
lacks "Access-Control-Max-Age"
ask POST /embed '{"inputs": ""}' $'Origin: https://example.org\r\nAuthorization: Bearer first'
is 422; has "Access-Control-Allow-Origin: https://example.org"
ask POST /embed '{"inputs": "a"}' 'Origin: https://example.org'; is 401; has "Access-Control-Allow-Origin"
ask POST /embed '{"inputs": "a"}' $'Origin: https://elsewhere.org\r\nAuthorization: Bearer first'
is 403; has "(--cors)"; lacks "Access-Control-Allow-Origin"
ask OPTIONS /embed '' 'Origin: https://elsewhere.org'; is 403; lacks "Access-Control-Allow-Origin"
ask OPTIONS /embed; is 401
stop

# HEAD and OPTIONS of all paths; a body in gzip, and in what is not known.
start
ask OPTIONS /embed; is 204; has "Allow: POST, OPTIONS"; lacks "Access-Control"; lacks "Vary: Origin"
ask OPTIONS /v1/models; is 204; has "Allow: GET, HEAD, OPTIONS"
ask OPTIONS /nowhere; is 404
for path in /v1/models /models /api/tags /api/version /info /health /ping /; do
  ask GET $path; is 200; length=$(grep -i '^content-length' "$tmp/answer")
  ask HEAD $path; is 200; has "$length"; [ -z "$(body_of_answer)" ] || fail "HEAD $path has a body"
done
ask HEAD /embed; is 405; has "Allow: POST, OPTIONS"
ask POST /rerank '{"query": "a river", "texts": ["a garden", "a river"]}'; is 200; has "X-Calque-Scores: cosine"
has '[{"index":1,"score":1.0},{"index":0,"score":'
ask POST /rerank '{"query": "a river"}'; is 422; lacks "X-Calque-Scores"
ask POST /api/embed '{"input": "The river is long."}'; is 200; body_of_answer | sed 's/,"total.*//' >"$tmp/alone"
printf '{"input": "The river is long."}' | gzip >"$tmp/zipped"
exec 9<>"/dev/tcp/127.0.0.1/$port"
printf 'POST /api/embed HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n' \
  "$(wc -c <"$tmp/zipped")" >&9
cat "$tmp/zipped" >&9
timeout 20 cat <&9 >"$tmp/answer"
exec 9>&- 9<&-
is 200; body_of_answer | sed 's/,"total.*//' | cmp - "$tmp/alone"
ask POST /api/embed '{"input": "a"}' 'Content-Encoding: br'; is 415; has "expected gzip, deflate or zstd"
stop

# A name is a host for --insecure only, and with keys.
start --insecure
host=rebound.example ask GET /health; is 200
stop
printf 'first\n' >"$tmp/key"
start --api-key-file "$tmp/key"
host=rebound.example ask GET /info '' 'Authorization: Bearer first'; is 200
stop

# With keys.
printf '# keys\nfirst\nsecond\n' >"$tmp/keys"
start --api-key-file "$tmp/keys"
ask GET /health; is 200
ask GET /info; is 401; has "WWW-Authenticate: Bearer"
ask GET /info '' 'Authorization: Bearer third'; is 401
ask GET /info '' 'Authorization: Bearer second'; is 200
stop

# A search says that its query was truncated, as every answer does.
expect 0 index new --model "$TEACHER" "$tmp/docs.index"
printf 'The river is long.\nA late garden.\n' >"$tmp/docs.txt"
expect 0 index add "$tmp/docs.index" "$tmp/docs.txt"
start "$tmp/docs.index"
ask GET '/api/search?q=river'; is 200; has "X-Calque-Truncated: 0"; has '"truncated":false'; has '"mode":"hybrid"'
ask GET '/api/search?q=river&mode=words'; is 200; has '"mode":"words"'; has '"reason":"words"'
ask GET '/api/search?q=river&mode=lexical'; is 422; has "expected one of dense, words, hybrid"
ask POST /api/search "{\"query\": \"$long\"}"; is 200; has "X-Calque-Truncated: 1"; has '"truncated":true'
ask POST /api/search "{\"query\": \"$long\", \"on_long\": \"window\"}"; is 200; has "X-Calque-Truncated: 0"
ask POST /api/search "{\"query\": \"$long\", \"on_long\": \"error\"}"; is 413; has "'query' is longer"
ask POST /api/search '{"query": "river", "truncate": 1}'; is 422
ask GET '/api/search?q=river&filter=%3D%3D'; is 422; has "filter"
ask GET '/api/search?q=river&effort=0'; is 422; has "'effort' is '0', expected 1 to"
ask GET '/api/search?q=river&exact=maybe'; is 422; has "'exact' is 'maybe', expected true or false"
ask POST /api/search '{"query": "river", "exact": 1}'; is 422; has "exact"
ask POST /api/search '{"query": "river", "exact": true, "effort": 8}'; is 200
ask GET '/api/search?q=river&csls=true&mode=dense'; is 501; has "hubness"
printf 'A river.\nA garden.\nThe late train.\n' >"$tmp/queries.txt"
expect 0 index hubness "$tmp/docs.index" --queries "$tmp/queries.txt"
ask GET '/api/search?q=river&mode=dense'; is 200; plain=$(body_of_answer | grep -o '"score":[^,]*' | head -n 1)
ask GET '/api/search?q=river&csls=true&mode=dense'; is 200; scaled=$(body_of_answer | grep -o '"score":[^,]*' | head -n 1)
[ -n "$plain" ] && [ "$plain" != "$scaled" ] || fail "csls changes no score: $plain, $scaled"
# The queue's vectors are the library's; a query by words needs none.
ask POST /api/search '{"query": "a river in a garden", "mode": "dense"}'; is 200
cosine=$(body_of_answer | grep -o '"cosine":[^,]*' | head -n 1 | cut -d : -f 2)
expect 0 search "$tmp/docs.index" "a river in a garden" --top 1 --json
awk -v cosine="$cosine" 'match($0, /"cosine": [-0-9.]*/) { x = substr($0, RSTART + 10, RLENGTH - 10); exit !(x - cosine < 1e-6 && cosine - x < 1e-6) }' \
  "$tmp/stdout" || fail "the server's cosine is $cosine, the program's: $(cat "$tmp/stdout")"
ask GET '/metrics'; tokens=$(body_of_answer | awk '$1 == "calque_tokens_total" { print $2 }')
[ "${tokens:-0}" -gt 0 ] || fail "queries are not among the tokens of the metrics: '$tokens'"
stop

# Queries wait with all other texts: where too many do, they are to come again. By words, nothing has to be encoded.
many="{\"inputs\": [$(printf '"the river garden late",%.0s' $(seq 15000))\"a\"]}"
start "$tmp/docs.index" --queue-tokens 1
mkdir "$tmp/other"
refused=no
for _ in $(seq 5); do # the text may be encoded before a query arrives
  (tmp=$tmp/other; ask POST /embed "$many") &
  other=$!
  while [ $refused = no ] && kill -0 $other 2>/dev/null; do
    ask POST /api/search '{"query": "river", "mode": "dense"}'
    head -n 1 "$tmp/answer" | grep -q ' 429 ' || continue
    refused=yes
    has "Retry-After"
    ask POST /api/search '{"query": "river", "mode": "words"}'; is 200
  done
  wait $other
  [ $refused = no ] || break
done
[ $refused = yes ] || fail "no query was refused while the queue was full"
stop

# A deadline that nobody can keep.
start --deadline-ms 1
ask POST /embed "$many"; is 504; has "--deadline-ms"
stop

# Decomposed text: one warning, or the vector of composed text.
TEACHER=$AS_IT_IS
start
for text in "$(decomposed_korean)" "$(decomposed_korean)" "$(composed_korean)"; do
  ask POST /embed "{\"inputs\": \"$text\"}"; is 200
done
body_of_answer >"$tmp/alone"
stop
warned 1 "$tmp/server"
start --compose
ask POST /embed "{\"inputs\": \"$(decomposed_korean)\"}"; is 200; body_of_answer | cmp - "$tmp/alone"
stop
warned 0 "$tmp/server"

# A model with weights for each task is opened for one of them.
TEACHER=$SOURCE/tests/golden/models/jina-v3
start --task text-matching
ask POST /embed '{"inputs": "The baker opens his shop.", "normalize": false}'; is 200
served=$(body_of_answer | tr -d '[] \n' | cut -d , -f 1)
echo "The baker opens his shop." | "$PROGRAM" encode --model "$TEACHER" --task text-matching |
  sed 's/.*"embedding": \[\([^,]*\).*/\1/' >first
[ -s first ] && awk -v a="$served" '{ exit !($1 != 0 && (a - $1) ^ 2 < 1e-10) }' first || fail "served $served, encoded $(cat first)"
stop
expect 1 serve --model "$TEACHER" --port 0 --task clustering
stderr_has "there are retrieval.query, retrieval.passage, text-matching"

# Token ids of OpenAI's models need the table that says what they are.
expect 2 serve --model "$TEACHER" --port 0 --token-ids cl100k
stderr_has "--token-ids cl100k or o200k needs --token-table FILE"
expect 2 serve --model "$TEACHER" --port 0 --token-ids own --token-table "$tmp/table"
expect 1 serve --model "$TEACHER" --port 0 --token-ids o200k --token-table "$tmp/table"
stderr_has "$tmp/table: cannot open"
printf 'IQ== 0\nIg== 2\n' >"$tmp/table"
expect 1 serve --model "$TEACHER" --port 0 --token-ids o200k --token-table "$tmp/table"
stderr_has "$tmp/table:2: the id is '2', expected 1"
awk 'BEGIN { for (i = 0; i < 100256; i++) print "YSBy " i }' >"$tmp/table" # "a r"
start --token-ids cl100k --token-table "$tmp/table"
ask POST /v1/embeddings '{"input": "a ra r"}'; is 200; body_of_answer >"$tmp/alone"
ask POST /v1/embeddings '{"input": [[9906, 1917]]}'; is 200; body_of_answer | cmp - "$tmp/alone"
ask POST /v1/embeddings '{"input": [[9906, 100257]]}'; is 400; has "from 0 to 100255"
stop
start
ask POST /v1/embeddings '{"input": [[9906, 1917]]}'; is 400; has "check_embedding_ctx_length=False"
stop

# A server whose first text has no token. A static model has no special tokens, so its vector is zeros.
TEACHER=$SOURCE/tests/golden/models/static-mean
start
ask POST /v1/embeddings '{"input": " "}'; is 200; has '"embedding":[0.0,0.0,'
ask POST /embed '{"inputs": " "}'; is 200
ask GET /info; is 200; has '"max_input_length":300000,' # of a request, since the model has no maximum
ask GET /ping; is 200
stop

exit $((failures > 0))
