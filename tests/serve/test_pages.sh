#!/usr/bin/env bash
# The files of the page: compressed for who takes gzip, an ETag for each of the two, and what asks again gets 304.
. "$2/tests/cli/common.sh"

: >"$tmp/address"
"$PROGRAM" serve --model "$TEACHER" --port 0 --threads 1 >"$tmp/address" 2>"$tmp/server" &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in $(seq 100); do
  port=$(sed -n 's|listening on http://127.0.0.1:||p' "$tmp/address")
  [ -z "$port" ] && kill -0 "$server" || break
  sleep 0.1
done

# get PATH [HEADER...]: headers in $tmp/headers, the body in $tmp/body.
get() {
  local path=$1 header
  shift
  last="GET $path $*"
  exec 9<>"/dev/tcp/127.0.0.1/$port" || { fail "no connection"; return; }
  {
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n' "$path"
    for header; do printf '%s\r\n' "$header"; done
    printf '\r\n'
  } >&9
  timeout 20 cat <&9 >"$tmp/answer"
  exec 9>&- 9<&-
  sed -n '/^\r$/q;p' "$tmp/answer" | tr -d '\r' >"$tmp/headers"
  tail -c "$(sed -n 's/^Content-Length: //p' "$tmp/headers")" "$tmp/answer" >"$tmp/body"
}
is() { head -n 1 "$tmp/headers" | grep -q "^HTTP/1.1 $1 " || fail "expected $1, got $(head -n 1 "$tmp/headers")"; }
has() { grep -qxF -- "$1" "$tmp/headers" || fail "the headers lack '$1'"; }
lacks() { ! grep -q -- "^$1" "$tmp/headers" || fail "the headers have '$1'"; }
etag() { sed -n 's/^ETag: //p' "$tmp/headers"; }

for file in '' app.js style.css icon.svg; do
  get "/$file"; is 200; has "Vary: Accept-Encoding"; lacks Content-Encoding
  plain=$(etag)
  same "$tmp/body" "$SOURCE/web/${file:-index.html}"
  get "/$file" 'Accept-Encoding: br, gzip;q=0.8, deflate'; is 200
  has "Vary: Accept-Encoding"; has "Content-Encoding: gzip"
  zipped=$(etag)
  [ -n "$plain" ] && [ -n "$zipped" ] && [ "$plain" != "$zipped" ] || fail "ETags $plain and $zipped"
  zcat <"$tmp/body" >"$tmp/unpacked"
  same "$tmp/unpacked" "$SOURCE/web/${file:-index.html}"

  get "/$file" "If-None-Match: $plain"; is 304; lacks Content-Encoding
  get "/$file" "If-None-Match: \"other\", W/$zipped" 'Accept-Encoding: gzip'; is 304; has "ETag: $zipped"
  get "/$file" "If-None-Match: $plain" 'Accept-Encoding: gzip'; is 200
  get "/$file" "If-None-Match: $zipped"; is 200
done
get /style.css 'Accept-Encoding: gzip'
[ "$(wc -c <"$tmp/body")" -lt $(($(wc -c <"$SOURCE/web/style.css") / 2)) ] || fail "compression does not halve style.css"

# Who refuses gzip, or takes something whose name is longer, gets the file as it is.
for accepted in '' identity 'gzip;q=0' 'gzip ; q=0.000, *' gzipped x-gzip-2 'br,' ', ,' 'deflate;gzip'; do
  get /app.js "Accept-Encoding: $accepted"; is 200; lacks Content-Encoding
  same "$tmp/body" "$SOURCE/web/app.js"
done
for accepted in GZIP 'deflate,gzip' 'gzip;q=0.001' 'gzip; q=1' ' gzip ,br' 'gzip;level=1'; do
  get /app.js "Accept-Encoding: $accepted"; is 200; has "Content-Encoding: gzip"
done
get /nowhere.js 'Accept-Encoding: gzip'; is 404; lacks Content-Encoding

kill -TERM "$server"
wait "$server" || fail "the server ended with $?"
exit $((failures > 0))
