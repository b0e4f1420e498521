#!/usr/bin/env bash
# Real clients of OpenAI and of text-embeddings-inference against `calque serve`: each checks what it gets.
#   bench/clients/run.sh PROGRAM MODEL VENV [CLIENT...]       VENV: outside the repository, made where it is missing
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,3s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1") model=$2 venv=$3
shift 3
if ! "$venv/bin/python" -c 'import openai, langchain_openai, huggingface_hub, numpy' 2>/dev/null; then
  python3 -m venv "$venv" >&2
  "$venv/bin/pip" install --quiet -r "$here/requirements.txt" >&2
fi
log=$(mktemp)
"$program" serve --model "$model" --port 0 >"$log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -f "$log"' EXIT
for _ in $(seq 300); do
  url=$(sed -n 's/^listening on //p' "$log")
  [ -z "$url" ] || break
  sleep 0.1
done
[ -n "$url" ] || { cat "$log" >&2; exit 1; }
status=0
[ $# -gt 0 ] || set -- curl openai langchain huggingface
for client in "$@"; do
  if [ "$client" = curl ]; then
    bash "$here/curl_client.sh" "$url" "$program" "$model" || status=1
  else
    "$venv/bin/python" "$here/${client}_client.py" "$url" "$program" "$model" || status=1
  fi
done
exit $status
