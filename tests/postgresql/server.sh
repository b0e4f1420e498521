# Starting and ending the server of scripts/test-postgresql, which has set CALQUE_PG_BIN, CALQUE_PG_WORK, CALQUE_PG_PORT
# and CALQUE_PG_AS (the command that gives up root; empty: none is needed). Sourced.

# Waits until it takes connections.
start_server() {
  local durable=(-c fsync=off -c full_page_writes=off) i
  [ -z "${CALQUE_PG_DURABLE:-}" ] || durable=()
  # shellcheck disable=SC2086 # a command with its arguments, or none
  (cd "$CALQUE_PG_WORK" && exec $CALQUE_PG_AS "$CALQUE_PG_BIN/postgres" -D "$CALQUE_PG_WORK/data" -k "$CALQUE_PG_WORK/socket" \
    -p "$CALQUE_PG_PORT" -c listen_addresses=127.0.0.1 -c max_connections=100 -c shared_buffers="${CALQUE_PG_BUFFERS:-256MB}" \
    -c maintenance_work_mem=512MB -c max_wal_size=4GB "${durable[@]}") >>"$CALQUE_PG_WORK/log" 2>&1 &
  echo $! >"$CALQUE_PG_WORK/pid"
  for i in $(seq 100); do
    "$CALQUE_PG_BIN/pg_isready" -q -h 127.0.0.1 -p "$CALQUE_PG_PORT" && return 0
    kill -0 "$(cat "$CALQUE_PG_WORK/pid")" 2>/dev/null || return 1
    sleep 0.1
  done
  return 1
}

# At once: connections are cut.
stop_server() {
  local pid i
  [ -s "$CALQUE_PG_WORK/pid" ] || return 0
  pid=$(cat "$CALQUE_PG_WORK/pid")
  kill -QUIT "$pid" 2>/dev/null || kill -0 "$pid" 2>/dev/null || { rm -f "$CALQUE_PG_WORK/pid"; return 0; }
  for i in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  rm -f "$CALQUE_PG_WORK/pid"
}
