# calque model get and put, against an imitation of the hub on loopback; every other command stays offline.
. "$(dirname "$0")/common.sh"

build=$(dirname "$PROGRAM")
if [ ! -e "$build/src/libcalque_curl.so" ]; then
  echo "skipped: this build has no plugin for libcurl"
  exit 0
fi
if [ "$(basename "$PROGRAM")" != calque ]; then
  echo "skipped: the imitation of the hub does not run on this machine"
  exit 0
fi
export HF_HOME=$tmp/home
unset HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_TOKEN HF_TOKEN_PATH HF_HUB_OFFLINE http_proxy all_proxy

# Nothing there: the message says what to do, and asks nobody.
export HF_ENDPOINT=http://127.0.0.1:1
expect 1 model info org/tiny
stderr_has "'calque model get org/tiny' fetches it"
HF_HUB_OFFLINE=1 expect 1 model get org/tiny
stderr_has "HF_HUB_OFFLINE is set"
expect 1 model get "org/tiny/more"
stderr_has "is not a name on the hub"

mkfifo ends
"$build/tests/hub_imitation" models org/tiny "$TEACHER" <ends >endpoint &
imitation=$!
exec 9>ends
trap 'exec 9>&-; wait $imitation; rm -rf "$tmp"' EXIT
for _ in $(seq 100); do [ -s endpoint ] && break; sleep 0.05; done
HF_ENDPOINT=$(cat endpoint)
expect 0 model get org/tiny
directory=$(cat stdout)
[ -L "$directory/config.json" ] || fail "$directory/config.json is no link into blobs"
[ "$directory" = "$HF_HOME/hub/models--org--tiny/snapshots/$(cat "$HF_HOME/hub/models--org--tiny/refs/main")" ] ||
  fail "refs/main does not lead to $directory"
expect 0 model get org/tiny@main --quiet
stderr_is_empty
expect 0 model get org/tiny --file "*.json"
expect 1 model get org/tiny --file "*.parquet"
stderr_has "no file of its"
expect 1 model get org/other
stderr_has "/api/models/org/other/revision/main"
stderr_has "404"
expect 2 model get
expect 2 model get org/tiny --type dataset

# libcurl is there for those who use the network, and for nobody else.
if [ "$(uname)" = Linux ] && ! is_sanitized; then
  LD_DEBUG=files "$PROGRAM" model info org/tiny 2>&1 | grep -q libcurl && fail "model info loads libcurl"
  LD_DEBUG=files "$PROGRAM" model get org/tiny 2>&1 | grep -q libcurl || fail "model get loads no libcurl?"
fi

# From now on it is known by its name, to all commands, and without a hub.
export HF_ENDPOINT=http://127.0.0.1:1
echo "The dog sleeps." >text
"$PROGRAM" encode --model org/tiny@main text -o by-name.npy || fail "encode by name"
"$PROGRAM" encode --model "$TEACHER" text -o by-path.npy || fail "encode by path"
same by-name.npy by-path.npy

# A model that is made from one of the hub's says so, with its languages and figures as the hub reads them.
pairs 40 >en-de.tsv
expect 0 distill --teacher org/tiny --student org/tiny --train en-de=en-de.tsv --dev en-de.tsv --steps 2 --output made
for line in "base_model: org/tiny" "language:" "- en" "- de" "model-index:" "- name: made" "    - type: src2trg_accuracy"; do
  grep -qxF -- "$line" made/README.md || fail "the card lacks '$line'"
done

# Publishing: what would be sent.
expect 0 model put made ada/made --license apache-2.0 --language en,no --dry-run
stdout_has "license: apache-2.0"
stdout_has '- "no"'
stdout_has "calque model get ada/made"
stdout_has "model.safetensors"
stderr_is_empty
expect 1 model put made ada/made
stderr_has "HF_TOKEN"
expect 1 model put made made --dry-run
stderr_has "no organization"
finish
