# The command line itself: help of every command, version, and usage errors (exit 2) with a hint.
. "$(dirname "$0")/common.sh"

commands_in() { sed -n '/^\(Commands\|Research methods (the lab)\):/,/^$/p' "$tmp/stdout" | sed -n 's/^  \([a-z-]*\) .*/\1/p'; }

expect 0 --version
stdout_has "calque "
stderr_is_empty
expect 0 --help
stdout_has "Usage: calque COMMAND"
stderr_is_empty
commands=$(commands_in)
[ -n "$commands" ] || fail "no command is listed"

# A text that was cut lacks the end of its last parenthesis.
is_whole() { [ "$(tr -cd '(' <"$1" | wc -c)" = "$(tr -cd ')' <"$1" | wc -c)" ]; }

check_help() {
  expect 0 "$@" --help
  stdout_has "Usage: calque $*"
  stdout_has "Example:"
  stdout_has "calque $1"
  stderr_is_empty
  is_whole "$tmp/stdout" || fail "a help text lost its end"
  awk 'length > 100 { long = 1 } END { exit long }' "$tmp/stdout" || fail "a help line is longer than 100 characters"
  expect 2 "$@" --no-such-option
  stdout_is_empty
  stderr_has "--no-such-option"
  stderr_has "Try 'calque $*"
}
# check_all WORD...: a command, or a group and all below it.
check_all() {
  local child children
  expect 0 "$@" --help
  children=$(commands_in)
  check_help "$@"
  [ -n "$children" ] || return 0
  expect 2 "$@"
  stderr_has "needs a command"
  for child in $children; do check_all "$@" "$child"; done
}
for command in $commands; do check_all "$command"; done

expect 2
stdout_is_empty
stderr_has "needs a command"
expect 2 encoed
stderr_has "did you mean 'encode'?"
expect 2 model chekc
stderr_has "did you mean 'check'?"
expect 2 xyzzy
stderr_has "'xyzzy' is not a command of calque"
if grep -q "did you mean" "$tmp/stderr"; then fail "a far word is suggested"; fi

# Options: unknown, misspelled, missing, malformed, repeated.
expect 2 encode --modle x
stderr_has "did you mean --model?"
expect 2 encode --batch-size 32
stderr_has "did you mean --batch?"
expect 2 distill --max_seq_length 128
stderr_has "did you mean --max-length?"
expect 2 distill --eval-steps 10
if grep -q "did you mean" "$tmp/stderr"; then fail "a far option is suggested"; fi
expect 2 eval translation pairs.tsv
stderr_has "--model MODEL is missing"
expect 2 encode --model
stderr_has "--model needs a value"
expect 2 encode -m x --threads two
stderr_has "--threads is 'two', expected a whole number"
expect 2 encode -m x --threads 2.5
stderr_has "expected a whole number"
expect 2 encode -m x --threads ' 2'
stderr_has "expected a whole number"
expect 2 encode -m x --threads -1
stderr_has "expected 0 to 1024"
expect 2 encode -m x --threads 99999999999999999999
stderr_has "expected a whole number"
expect 2 encode -m x -m y
stderr_has "--model is given twice"
expect 2 encode -m x --normalize=yes
stderr_has "--normalize takes no value"
expect 2 encode -m x --output-type int9
stderr_has "did you mean 'int8'?"
expect 2 encode -m x --output-type zzzz
stderr_has "one of f32, int8, binary, ubinary"
expect 2 encode -m x --output vectors.txt
stderr_has "ends in .npy, .jsonl or .bin"
expect 2 encode -m x --prompt a --prompt-name b
stderr_has "exclude each other"
expect 2 encode -m x --calibration f
stderr_has "for --output-type int8 only"
expect 2 similarity -m x one
stderr_has "expected two sentences"
expect 2 similarity -m x --tsv f --columns 0,1
stderr_has "--columns is '0,1'"
expect 2 eval translation -m x
stderr_has "expected [LABEL=]FILE..."
expect 2 eval mse -m x f
stderr_has "--teacher MODEL is missing"
expect 2 eval sts -m x --json --csv f
stderr_has "exclude each other"
expect 2 model info
expect 2 model info a b
stderr_has "unexpected argument 'b'"
expect 2 model new --kind copy out
stderr_has "needs 'from'"
expect 2 model new --kind static out
stderr_has "needs 'text'"
expect 2 distill --teacher t --student s --output o
stderr_has "at least one file to train on is needed (train, source-text)"
expect 2 distill --teacher t --student s --output o --train f:0
stderr_has "the weight must be above 0"
expect 2 distill --teacher t --student s --output o --train f --lr nan
stderr_has "--lr is 'nan', expected a number"
expect 2 distill --teacher t --student s --output o --train f --lr 1e400
stderr_has "expected a number"
expect 2 distill --teacher t --student s --output o --train f --dropout 1.5
stderr_has "--dropout is 1.5, expected at least -1 and less than 1"
# --quiet: no notes and no progress, but errors.
printf 'a\tb\n' >pair.tsv
expect 0 data dedup pair.tsv --quiet
stdout_has "a	b"
[ ! -s stderr ] || fail "--quiet says: $(cat stderr)"
expect 1 data dedup --quiet no-such.tsv
stderr_has "no-such.tsv"

finish
