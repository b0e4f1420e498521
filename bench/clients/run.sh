#!/usr/bin/env bash
# Real clients of OpenAI, Ollama, Cohere and text-embeddings-inference against `calque serve`, at their defaults: each
# checks what it gets; "replay" sends the requests of programs that are no packages of Python. A second server has the
# table of OpenAI's tokens (--token-ids cl100k) that a client's package brings, if one does.
#   bench/clients/run.sh PROGRAM MODEL VENV [CLIENT...]       VENV: outside the repository, made where it is missing
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1") model=$2 venv=$3
shift 3
if ! "$venv/bin/pip" freeze 2>/dev/null | grep -qx "$(tail -n 1 "$here/requirements.txt")"; then
  python3 -m venv "$venv" >&2
  "$venv/bin/pip" install --quiet -r "$here/requirements.txt" >&2
fi
work=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null; wait; rm -rf "$work"' EXIT
start() { # OPTION...: a server whose address is in url; it ends by itself after half an hour
  local log=$work/log${#servers[@]}
  timeout 1800 "$program" serve --model "$model" --port 0 "$@" >"$log" 2>&1 &
  servers+=($!)
  for _ in $(seq 300); do
    url=$(sed -n 's/^listening on //p' "$log")
    [ -z "$url" ] || return 0
    sleep 0.1
  done
  cat "$log" >&2
  exit 1
}
table=$(find "$venv/lib" -path '*tiktoken_cache/9b5ad71b2ce5302211f9c61530b329a4922fc6a4' -print -quit)
if [ -n "$table" ]; then
  start --token-ids cl100k --token-table "$table"
  export CL100K_URL=$url TIKTOKEN_CACHE_DIR=${table%/*}
fi
start
export ANONYMIZED_TELEMETRY=False HF_HUB_DISABLE_TELEMETRY=1 HAYSTACK_TELEMETRY_ENABLED=False LITELLM_LOCAL_MODEL_COST_MAP=True
status=0
[ $# -gt 0 ] || set -- curl replay openai langchain ollama cohere llamaindex haystack litellm chromadb huggingface mcp
for client in "$@"; do
  if [ "$client" = curl ]; then
    bash "$here/curl_client.sh" "$url" "$program" "$model" || status=1
  else
    timeout 300 "$venv/bin/python" "$here/${client}_client.py" "$url" "$program" "$model" || status=1
  fi
done
exit $status
