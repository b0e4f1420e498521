# Commands within less and less memory: the same result or an error, whichever library it is that lacks memory.
. "$(dirname "$0")/../cli/common.sh"
is_sanitized && echo "skipped: the address space cannot be limited" && exit

pairs 600 >pairs.tsv
cut -f 1 pairs.tsv >en.txt
awk '{ print "d" NR "\t" $0 }' en.txt >en.tsv
expect 0 index new --model "$TEACHER" base
expect 0 index add base en.txt
cp -r base approximate
expect 0 index approximate approximate

# contents: of what a command wrote, without times.
contents() { find out 2>/dev/null -type f ! -name '*.lock' ! -name lock | LC_ALL=C sort | xargs -r sha256sum; }

start() {
  rm -rf out
  case $1 in
    approximate) cp -r base out ;;
    -m) mkdir out ;;
  esac
}

# within FROM STEP RESULT COMMAND...: from so many MB of addresses on until three runs have passed. RESULT: a command
# whose output must always be the same.
within() {
  local mb=$1 step=$2 result=$3 passed=0 refused=0 code wanted
  shift 3
  start "$2"
  "$PROGRAM" "$@" >printed 2>stderr
  wanted=$($result)
  while [ "$passed" -lt 3 ] && [ "$mb" -lt 4000 ]; do
    start "$2"
    (ulimit -v $((mb * 1000)) && timeout 60 "$PROGRAM" "$@") >printed 2>stderr
    code=$?
    last="calque $* within $mb MB"
    [ "$failures" -lt 5 ] || exit 1
    case $code in
      0) passed=$((passed + 1)) && [ "$($result)" = "$wanted" ] || fail "another result" ;;
      1 | 127) refused=$((refused + 1)) passed=0 ;; # 127: not even the libraries could be loaded
      *) fail "exit code $code" && passed=0 ;;
    esac
    mb=$((mb + step))
  done
  [ "$passed" -eq 3 ] || fail "never passed"
  [ "$refused" -gt 0 ] || fail "never refused: the limits were too high"
}
within 45 5 contents encode -m "$TEACHER" -t 1 -o out/en.npy en.txt
within 45 1 contents lexical build out --language en -t 1 en.tsv
within 40 20 contents model new --from "$TEACHER" --text pairs.tsv --vocab-size 60 out
within 40 5 true index approximate -t 1 out
within 40 5 "cat printed" search approximate -t 1 "old baker"
exit $((failures > 0))
