# Sourced by tests of `calque serve` over a database: servers that end with the test, and what they answer.
command -v curl >/dev/null || { echo "skipped: there is no curl"; exit 0; }

pids=()
end_servers() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  wait "${pids[@]}" 2>/dev/null
  rm -rf "$tmp"
}
trap end_servers EXIT

# start NAME ARGUMENT...: the server's address goes to a variable of that name
start() {
  local name=$1
  shift
  "$PROGRAM" serve "$@" --port 0 --access-log "$name.access" >"$name.out" 2>"$name.err" &
  pids+=($!)
  for _ in $(seq 100); do
    grep -q '^listening on ' "$name.out" 2>/dev/null && break
    sleep 0.1
  done
  eval "$name=\$(sed -n 's/^listening on //p' $name.out)"
}
code() { curl -s -m 20 -o body -w '%{http_code}' "$@"; }
has() { grep -qF -- "$1" body || fail "the answer lacks '$1': $(head -c 300 body)"; }
is() { [ "$1" = "$2" ] || fail "${3:+$3: }the code is $1, expected $2: $(head -c 300 body)"; }
