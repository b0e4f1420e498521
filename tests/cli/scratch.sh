# Sourced before mktemp: scratch directories are in memory, where a sync costs nothing, if there is room for them and
# programs may be run from there.
if [ -z "${TMPDIR-}" ] && [ -w /dev/shm ] && ! grep -q ' /dev/shm [^ ]* [^ ]*noexec' /proc/mounts &&
  [ "$(df --output=avail /dev/shm | tail -n 1)" -gt 2000000 ]; then
  export TMPDIR=/dev/shm
fi
