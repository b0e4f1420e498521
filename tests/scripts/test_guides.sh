#!/usr/bin/env bash
# The first example of each guide runs as printed, offline, in a fresh checkout with the program on PATH.
#
# An example is a block that is indented by four spaces. Where lines begin with "$ ", these are the commands, with the
# lines that a "\" continues; the others are output. Otherwise every line is a command.
set -euo pipefail
program=$(realpath "$1")
source_dir=$(realpath "$2")
case $program in *-emulated) echo "skipped: training under emulation takes too long"; exit 0 ;; esac
library=$(dirname "$program")/src
. "$source_dir/tests/cli/scratch.sh"
work=$(mktemp -dt calque-test-XXXXXX)
trap 'rm -rf "$work"' EXIT

# `calque serve` would not end: it is stopped as soon as it listens, and has to exit with 0.
mkdir "$work/bin"
cat >"$work/bin/calque" <<END
#!/usr/bin/env bash
[ "\${1:-}" = serve ] || exec "$program" "\$@"
"$program" "\$@" --port 0 >listening 2>serve.log &
while ! grep -qs '^listening on' listening; do kill -0 "\$!" 2>/dev/null || { cat serve.log >&2; exit 1; }; sleep 0.1; done
kill "\$!" && wait "\$!" || { cat serve.log >&2; exit 1; }
grep '^listening on' listening
END
chmod +x "$work/bin/calque"
export PATH=$work/bin:$PATH XDG_CACHE_HOME=$work/cache HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
export CALQUE_LIBRARY=$library/libcalque.so
unset CALQUE_API_KEY PYTHONPATH

# The commands of a guide's first example.
first_example() {
  awk '
    /^    / && (inside || blank) { inside = 1; lines[++n] = substr($0, 5); if (/^    \$ /) marked = 1; next }
    inside && NF { exit }
    { blank = !NF }
    END {
      for (i = 1; i <= n; i++) {
        if (marked && !continued && lines[i] !~ /^\$ /) continue
        if (!continued) sub(/^\$ /, "", lines[i])
        print lines[i]
        continued = lines[i] ~ /\\$/
      }
    }' "$1"
}

# What an example needs and this build may lack.
lacks() {
  case $1 in
    approximate) [ -f "$library/libcalque_faiss.so" ] || echo "the plugin for FAISS is not built" ;;
    hub) [ -f "$library/libcalque_curl.so" ] || echo "the plugin for libcurl is not built" ;;
    python)
      if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then echo "no Python 3.9 or later"
      elif nm -D "$CALQUE_LIBRARY" | grep -q ' U __[at]san_init'; then echo "the library has sanitizers"; fi ;;
  esac
}

failures=0 examples=0
for guide in "$source_dir"/docs/guides/*.md; do
  name=$(basename "$guide" .md)
  first_example "$guide" >"$work/commands"
  [ -s "$work/commands" ] || continue # a page of tables
  examples=$((examples + 1))
  reason=$(lacks "$name")
  [ -z "$reason" ] || { echo "$name: skipped: $reason"; continue; }
  # A checkout of its own: what examples write to is copied, the rest is linked.
  mkdir "$work/$name"
  for entry in "$source_dir"/*; do
    case ${entry##*/} in
      build) ;;
      sample) cp -r "$entry" "$work/$name" && rm -rf "$work/$name/sample/documents/.calque" ;;
      *) ln -s "$entry" "$work/$name" ;;
    esac
  done
  start=$SECONDS
  if ! (cd "$work/$name" && bash -eu "$work/commands") >"$work/log" 2>&1 </dev/null; then
    failures=$((failures + 1))
    echo "FAILED: the first example of docs/guides/$name.md"
    sed 's/^/  command: /' "$work/commands"
    tail -n 5 "$work/log" | sed 's/^/  output: /'
  fi
  echo "$name: $((SECONDS - start)) s"
  rm -rf "${work:?}/$name"
done
[ "$examples" -ge 15 ] || { echo "FAILED: only $examples guides have an example"; exit 1; }
[ "$failures" -eq 0 ] || { echo "$failures of $examples examples failed"; exit 1; }
