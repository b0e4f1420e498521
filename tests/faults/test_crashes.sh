# Power cuts at every moment of writing an index, a cache, a checkpoint, a model, a lexical index, a file of vectors: what is
# read afterwards is the old state or the new one, and the next run goes on from there. RANDOM_STATES (default 1) drawn
# states are tried at each moment beside the five fixed ones; crash_states.c says what a disk may hold.
#
#   RANDOM_STATES=50 bash tests/faults/test_crashes.sh PROGRAM SOURCE_DIR [WRITER...]
. "$(dirname "$0")/../cli/common.sh"
is_sanitized && echo "skipped: a sanitizer's own threads cannot be traced" && exit
shift 2
writers=("$@")
[ ${#writers[@]} -gt 0 ] || writers=(index-new index-add index-remove approximate cache checkpoint model lexical encode)
cc -O1 -o crash_states "$SOURCE/tests/faults/crash_states.c" || exit 1

pairs 80 >pairs.tsv
head -n 24 pairs.tsv | cut -f 1 | awk '{ print "d" NR "\t" $0 }' >first.tsv
awk -F '\t' 'NR > 16 && NR <= 40 { print "d" NR "\t" $2 }' pairs.tsv >second.tsv
cut -f 1 pairs.tsv | sort -u >en.txt
cut -f 2 pairs.tsv | sort -u >de.txt
awk '{ print "d" NR "\t" $0 }' en.txt >en.tsv
export PROGRAM TEACHER SOURCE tmp LC_ALL
STUDENT=$SOURCE/tests/golden/models/mpnet-mean
export distill="distill --teacher $TEACHER --student $STUDENT --train pairs.tsv --dev pairs.tsv --dim-match project
  --steps 9 --batch 4 --lr 1e-3 --evaluate-every 4 --checkpoint-every 3 --cache cache --threads 1 --resume"

. "$SOURCE/tests/faults/crash_checks.sh" true # for what it finds
# crashes CHECK COMMAND...: runs the command in every state of `state`.
crashes() {
  local check=$1
  shift
  export command="$*"
  ./crash_states -n "${RANDOM_STATES:-1}" -s "${SEED:-1}" state crashed "bash $SOURCE/tests/faults/crash_checks.sh $check" "$PROGRAM" "$@" >counted 2>stderr
  code=$?
  last="$*"
  [ $code -eq 0 ] || { fail "$writer: $(cat counted)" && head -n 60 stderr; }
  printf '%-12s %s\n' "$writer" "$(tail -n 1 counted)"
}
"$PROGRAM" index new --model "$TEACHER" first 2>/dev/null
"$PROGRAM" index add first --ids first.tsv 2>/dev/null || fail "no index"
for writer in "${writers[@]}"; do
  rm -rf state crashed new old
  mkdir state
  export writer
  case $writer in
    index-new) crashes new_index index new --model "$TEACHER" state/index ;;
    index-add | index-remove | approximate)
      cp -r first state/index
      found state/index >old
      case $writer in
        index-add) export again="index add --threads 1 --ids" input=second.tsv ;;
        index-remove) export again="index remove" input="d3 d7" ;;
        approximate) export again="index approximate --threads 1" input= ;;
      esac
      cp -r first made.index
      "$PROGRAM" $again made.index $input >/dev/null 2>&1
      found made.index >new
      rm -rf made.index
      crashes old_or_new_index $again state/index $input
      ;;
    cache)
      "$PROGRAM" mine --model "$TEACHER" --cache other --threads 1 en.txt de.txt >new 2>/dev/null
      crashes cache_is_whole mine --model "$TEACHER" --cache state/cache --threads 1 en.txt de.txt
      ;;
    checkpoint)
      "$PROGRAM" $distill --output whole >/dev/null 2>&1 || fail "no model"
      of_directory whole >new
      sed -E 's/,?"seconds":[0-9.e-]+//' whole/log.jsonl >new.log
      crashes resumes $distill --output state/model
      ;;
    model | lexical)
      [ $writer = model ] && make="model new --from $TEACHER --text pairs.tsv --vocab-size 60 state/out" ||
        make="lexical build state/out --language en -t 1 en.tsv"
      "$PROGRAM" ${make//state/.}.made >/dev/null 2>&1
      case $writer in model) of_directory out.made ;; lexical) "$PROGRAM" ${make//state\/out/built} 2>/dev/null; of_directory built ;; esac >new
      crashes absent_or_whole $make
      ;;
    encode)
      "$PROGRAM" encode --model "$TEACHER" --threads 1 --output new.npy en.txt
      mv new.npy new
      crashes file_absent_or_whole encode --model "$TEACHER" --threads 1 --output state/out.npy en.txt
      ;;
  esac
done
finish
