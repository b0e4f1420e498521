#!/usr/bin/env bash
# curl against all three interfaces: what any language's HTTP client does.
#   curl_client.sh URL PROGRAM MODEL
set -euo pipefail
url=$1 program=$2 model=$3
failures=0 checks=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
post() { # PATH BODY [OPTION...]: the answer to $work/answer, its head to $work/head, its code to code
  local path=$1 body=$2
  shift 2
  code=$(curl -s -o "$work/answer" -D "$work/head" -w '%{http_code}' -H 'Content-Type: application/json' "$@" \
    --data-binary "$body" "$url$path")
}
check() { # WHAT COMMAND...
  local what=$1
  shift
  checks=$((checks + 1))
  "$@" || { echo "curl_client.sh: $what: $(head -c 300 "$work/answer")" >&2; failures=$((failures + 1)); }
}
numbers() { tr '[],' '\n\n\n' <"$1" | grep -E '^-?[0-9]' || true; }
near() { # FILE FILE: numbers, one a line, as many, within 1e-5
  paste "$1" "$2" | awk -F '\t' '{ d = $1 - $2; if ($1 == "" || $2 == "" || d > 1e-5 || d < -1e-5) bad = 1 }
    END { exit bad || NR == 0 }'
}
says() { grep -q -- "$1" "$2"; }

printf '%s\n' 'A dog runs.' 'Ein Hund läuft.' >"$work/texts"
"$program" encode --model "$model" --normalize --quiet "$work/texts" | sed 's/.*"embedding": *//' | tr -d ' }' |
  tr '[],' '\n\n\n' | grep -E '^-?[0-9]' >"$work/want"
dim=$(($(wc -l <"$work/want") / 2))

post /embed '{"inputs":["A dog runs.","Ein Hund läuft."]}'
numbers "$work/answer" >"$work/got"
check 'embed: 200' [ "$code" = 200 ]
check 'embed: vectors' near "$work/got" "$work/want"
check 'embed: header' says 'X-Calque-Truncated: 0' "$work/head"
post /embed '{"inputs":"A dog runs."}'
numbers "$work/answer" >"$work/got"
check 'embed: one' near "$work/got" <(head -n "$dim" "$work/want")
post /v1/embeddings '{"input":["A dog runs.","Ein Hund läuft."],"model":"m"}'
sed 's/"index":[0-9]*//g; s/"usage".*//; s/"embedding":\[/\n[/g' "$work/answer" >"$work/lists"
numbers "$work/lists" >"$work/got"
check 'v1: vectors' near "$work/got" "$work/want"
post /v1/embeddings '{"input":"A dog runs.","encoding_format":"base64"}'
sed 's/.*"embedding":"\([^"]*\)".*/\1/' "$work/answer" | base64 -d | od -An -v -w4 -t f4 | tr -d ' ' >"$work/got"
check 'v1: base64' near "$work/got" <(head -n "$dim" "$work/want")

# A body in chunks, an announced one, one byte at a time, two requests on one connection.
post /embed '{"inputs":"A dog runs."}' -H 'Transfer-Encoding: chunked'
check 'chunked: 200' [ "$code" = 200 ]
post /embed '{"inputs":"A dog runs."}' -H 'Expect: 100-continue'
check 'expect: 200' [ "$code" = 200 ]
post /embed '{"inputs":"A dog runs."}' --http1.0
check 'HTTP/1.0: 200' [ "$code" = 200 ]
connects=$(curl -s -o "$work/answer" -w '%{num_connects}\n' -d '{"inputs":"x"}' "$url/embed" --next -s -o "$work/answer" \
  -w '%{num_connects}\n' -d '{"inputs":"y"}' "$url/embed" | tail -n 1)
check 'keep-alive' [ "$connects" = 0 ]

long=$(printf 'The tide comes in. %.0s' $(seq 1000))
post /embed "{\"inputs\":\"$long\"}"
check 'long: header' says 'X-Calque-Truncated: 1' "$work/head"
post /embed "{\"inputs\":\"$long\",\"truncate\":false}"
check 'long: 413' [ "$code" = 413 ]
post /v1/embeddings "{\"input\":\"$long\",\"on_long\":\"error\"}"
check 'long, OpenAI: 400' [ "$code" = 400 ]
check 'long, OpenAI: code' says '"code":"context_length_exceeded"' "$work/answer"
post /embed '{"inputs":'
check 'no JSON: 400' [ "$code" = 400 ]
post /embed '{"inputs":[]}'
check 'no texts: 422' [ "$code" = 422 ]
post /embed '{}'
check 'no inputs: 422' [ "$code" = 422 ]
post /nothing '{}'
check 'no route: 404' [ "$code" = 404 ]
for path in info health metrics openapi.json v1/models api/info; do
  code=$(curl -s -o "$work/answer" -w '%{http_code}' "$url/$path")
  check "/$path: 200" [ "$code" = 200 ]
done
code=$(curl -s -o "$work/answer" -w '%{http_code}' "$url/embed")
check 'GET of /embed: 405' [ "$code" = 405 ]

[ $failures = 0 ] || { echo "curl_client.sh: $failures of $checks checks failed" >&2; exit 1; }
echo "curl_client.sh: $checks checks passed"
