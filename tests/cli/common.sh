# Sourced by the tests of the program: a scratch directory, and checks that say what was expected.
#
#   expect 1 encode --model nowhere            # runs the program, compares its exit code
#   stderr_has "nowhere"; stdout_is_empty      # look at what it wrote
#   absent "$tmp/out.npy"
set -u
PROGRAM=$(realpath "$1")
SOURCE=$(realpath "$2")
TEACHER=$SOURCE/tests/golden/models/bert-uncased # tiny: the program is tested here, not the figures
. "${BASH_SOURCE[0]%/*}/scratch.sh"
tmp=$(mktemp -dt calque-test-XXXXXX)
failures=0
# A check that failed is a test that failed, whether or not it comes to `finish`. A command in the background that is
# killed before it is the program is still this shell, with this trap: the directory is not its own to remove.
end_test() {
  local code=$?
  [ "$BASHPID" -eq $$ ] || exit "$code"
  rm -rf "$tmp"
  [ "$failures" -eq 0 ] || { echo "$failures checks failed"; code=1; }
  exit "$code"
}
trap end_test EXIT
cd "$tmp" || exit 1
export LC_ALL=C.UTF-8

fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
  echo "  command: ${last-}"
  sed 's/^/  stderr: /' "$tmp/stderr" 2>/dev/null | head -n 8
}

expect() {
  local wanted=$1 got
  shift
  last="calque $*"
  "$PROGRAM" "$@" >"$tmp/stdout" 2>"$tmp/stderr" </dev/null
  got=$?
  [ "$got" -eq "$wanted" ] || fail "exit code $got, expected $wanted"
}

# The same with standard input from a file.
expect_from() {
  local file=$1 wanted=$2 got
  shift 2
  last="calque $* < $file"
  "$PROGRAM" "$@" >"$tmp/stdout" 2>"$tmp/stderr" <"$file"
  got=$?
  [ "$got" -eq "$wanted" ] || fail "exit code $got, expected $wanted"
}

# A Korean line, composed (NFC) and as a Mac may write it (NFD); a model whose tokenizer does not normalize; the warning.
composed_korean() { printf '\uB2E4\uC74C \uC5ED\n'; }
decomposed_korean() { printf '\u1103\u1161\u110B\u1173\u11B7 \u110B\u1167\u11A8\n'; }
AS_IT_IS=$SOURCE/tests/golden/models/mistral-last
warned() { # TIMES [FILE]: of decomposed text
  local n
  n=$(grep -c "decomposed text.*'compose'" "${2-$tmp/stderr}")
  [ "$n" -eq "$1" ] || fail "$n warnings of decomposed text, expected $1"
}

stdout_has() { grep -qF -- "$1" "$tmp/stdout" || fail "standard output lacks '$1'"; }
stderr_has() { grep -qF -- "$1" "$tmp/stderr" || fail "standard error lacks '$1'"; }
stdout_is_empty() { [ ! -s "$tmp/stdout" ] || fail "standard output is not empty"; }
stderr_is_empty() { [ ! -s "$tmp/stderr" ] || fail "standard error is not empty"; }
same() { cmp -s "$1" "$2" || fail "$1 and $2 differ"; }
# Neither the file nor a temporary beside it.
absent() {
  local file
  for file in "$1" "$1".*; do [ ! -e "$file" ] || fail "$file was left behind"; done
}
# The weights of a model directory behind its word embeddings, which come first.
body_of() {
  local header rows dim
  header=$(od -An -tu8 -N 8 "$1/model.safetensors")
  read -r rows dim <<<"$("$PROGRAM" model info "$1" | awk '$1 == "vocab_size" && !r { r = $2 } $1 == "dim" { d = $2 } END { print r, d }')"
  tail -c +$((9 + header + rows * dim * 4)) "$1/model.safetensors"
}
lines_are() { [ "$(wc -l <"$1")" -eq "$2" ] || fail "$1 has $(wc -l <"$1") lines, expected $2"; }
bytes_are() { [ "$(wc -c <"$1")" -eq "$2" ] || fail "$1 has $(wc -c <"$1") bytes, expected $2"; }

# damage FILE AT [N]: changes N bytes (1) from AT on.
damage() {
  local at
  for ((at = $2; at < $2 + ${3:-1}; at++)); do
    local byte
    byte=$(od -An -tu1 -j "$at" -N 1 "$1")
    printf "\\x$(printf %02x $(((byte + 85) % 256)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
  done
}

# A program with a sanitizer needs more addresses than it uses memory: it cannot be limited, nor take another malloc.
is_sanitized() { ! (ulimit -v 4000000 && "$PROGRAM" --version) >/dev/null 2>&1; }

# N lines of English, tab, German.
pairs() {
  awk -v n="$1" 'BEGIN {
    split("baker river train window garden harbour letter", a); split("Bäcker Fluss Zug Fenster Garten Hafen Brief", b)
    split("old quiet long green", c); split("alt ruhig lang grün", d)
    for (i = 0; i < n; i++) {
      x = i % 7 + 1; y = i % 4 + 1
      printf "The %s in house %d is %s.\t%s, Haus %d: %s.\n", a[x], i, c[y], b[x], i, d[y]
    }
  }'
}

finish() {
  exit "$((failures > 0))"
}
