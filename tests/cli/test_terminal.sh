# Control characters of files (ESC, BEL, C1) are escaped by every command that prints text on a terminal, and kept elsewhere.
. "$(dirname "$0")/common.sh"
command -v script >/dev/null || { echo "skipped: there is no 'script'" && exit; }
evil=$'A \e]0;owned\a dog \xc2\x9b.'
printf '%s\nA cat.\nA green house.\n' "$evil" >en.txt
printf '%s\nEine Katze.\nEin Haus.\n' "$evil" >de.txt
paste en.txt de.txt >pairs.tsv

# shows EXPECTED ARGUMENTS...: what a terminal gets.
shows() {
  local wanted=$1 quoted
  shift
  quoted=$(printf '%q ' "$PROGRAM" "$@")
  last="calque $* on a terminal"
  SHELL=$BASH script -qec "$quoted" /dev/null >stdout 2>stderr </dev/null
  stdout_has "$wanted"
  ! grep -q $'\e\]\|\a\|\xc2\x9b\|\e\[31m' stdout || fail "control characters on a terminal: $(cat -v stdout)"
}
escaped='A \x1b]0;owned\x07 dog \x9b.'
for command in "mine --model $TEACHER --cache cache en.txt de.txt" "data dedup pairs.tsv" "data convert --from tsv pairs.tsv" \
  "cluster --model $TEACHER --threshold 0.1 --min-size 1 en.txt" "data documents en.txt"; do
  [ "$command" != "data documents en.txt" ] || escaped='A \u001b]0;owned\u0007 dog \x9b.' # in JSON
  shows "$escaped" $command
  "$PROGRAM" $command >kept 2>stderr </dev/null
  grep -qF -e "$evil" -e 'A \u001b]0;owned\u0007 dog' kept || fail "they are not kept elsewhere: $(cat -v kept)"
done
shows 'no\x1b[31m' model info $'no\e[31m'
finish
