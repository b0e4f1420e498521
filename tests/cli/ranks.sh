# Sourced, after common.sh, by the tests of several ranks: what they need of Open MPI, ranks that run and that are killed.
command -v mpirun >/dev/null || { echo "skipped: there is no mpirun (Debian: openmpi-bin)"; exit 0; }
[ -e "$(dirname "$PROGRAM")/src/libcalque_mpi.so" ] || { echo "skipped: this build has no plugin for Open MPI"; exit 0; }
# Between processes of this machine, which may use any core.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_pml=ob1 \
  OMPI_MCA_hwloc_base_binding_policy=none XDG_CACHE_HOME=$tmp/cache

ranks() { # N EXIT OPTION...
  local n=$1 wanted=$2 got
  shift 2
  last="mpirun -n $n calque $*"
  timeout 300 mpirun -n "$n" "$PROGRAM" "$@" >stdout 2>stderr </dev/null
  got=$?
  [ "$got" -eq "$wanted" ] || fail "exit code $got, expected $wanted"
}

wait_for() { # FILE
  for _ in $(seq 600); do
    [ -e "$1" ] && return
    sleep 0.1
  done
  fail "there is no $1 to wait for"
}

# Kills the last rank of mpirun, which runs as process $1, some milliseconds after a file is there.
kill_rank() { # PID FILE [MILLISECONDS]
  local rank
  wait_for "$2"
  sleep "$(awk -v ms="${3:-0}" 'BEGIN { print ms / 1000 }')"
  rank=$(pgrep -P "$1" -n calque)
  kill -KILL "$rank" || fail "there is no rank to kill"
  wait "$1" && fail "a command whose rank was killed is no success"
}
