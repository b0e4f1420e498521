# Power cuts at every moment of writing an index, a cache, a checkpoint, a model, a lexical index, a file of vectors: what is
# read afterwards is the old state or the new one, the next run resumes from there, and what a command had done when it ended
# stays. crash_states.c says what a disk may hold, crash_check.c looks at it. STATES are made at each moment: 8 by default,
# 16 in .ci/run.
#
#   STATES=1000 bash tests/faults/test_crashes.sh PROGRAM SOURCE_DIR [WRITER...]
#
# LEFT_OUT=n leaves out the n-th sync of each run: the test must fail.
. "$(dirname "$0")/../cli/common.sh"
is_sanitized && echo "skipped: a sanitizer's own threads cannot be traced" && exit
tools=$(dirname "$PROGRAM")/tests
[ -x "$tools/crash_states" ] || { echo "skipped: there is no recorder for this system" && exit; }
shift 2
writers=("$@")
[ ${#writers[@]} -gt 0 ] || writers=(index-new index-add index-add-tail index-remove index-hubness index-compact
  approximate cache cache-grow checkpoint
  stopped model model-replace lexical encode encode-lines)

pairs 80 >pairs.tsv
head -n 24 pairs.tsv | cut -f 1 | awk '{ print "d" NR "\t" $0 }' >first.tsv
awk -F '\t' 'NR > 16 && NR <= 40 { print "d" NR "\t" $2 }' pairs.tsv >second.tsv
cut -f 1 pairs.tsv | sort -u >en.txt
cut -f 2 pairs.tsv | sort -u >de.txt
awk '{ print "d" NR "\t" $0 }' en.txt >en.tsv
export TEACHER STUDENT=$SOURCE/tests/golden/models/mpnet-mean
quietly() { "$@" >/dev/null 2>stderr || fail "$writer: $*"; }

# Sets `command`, which writes in the directory `state`, and makes what is there before.
prepare() {
  case $writer in
    index-new) command=("$PROGRAM" index new --model "$TEACHER" state/index) ;;
    index-*)
      cp -r first state/index
      command=("$PROGRAM" index add --threads 1 --ids state/index second.tsv)
      ;;&
    index-add) ;;
    index-remove) command=("$PROGRAM" index remove state/index d3 d7) ;;
    index-hubness) command=("$PROGRAM" index hubness --threads 1 state/index) ;;
    index-compact)
      quietly "$PROGRAM" index hubness --threads 1 state/index
      quietly "$PROGRAM" index remove state/index d3 d7
      command=("$PROGRAM" index compact --threads 1 state/index)
      ;;
    index-add-tail) # a killed process was here
      for file in passages-1 vectors-1 checks-1 deleted-1; do head -c 700 "$SOURCE/LICENSE" >>"state/index/$file"; done
      ;;
    approximate)
      cp -r first state/index
      command=("$PROGRAM" index approximate --method ivf --threads 1 state/index)
      ;;
    cache | cache-grow)
      command=("$PROGRAM" mine --model "$TEACHER" --cache state/cache --threads 1 --replace --output mined en.txt de.txt)
      [ $writer = cache ] || quietly "${command[@]/de.txt/en.txt}"
      ;;
    checkpoint)
      command=("$PROGRAM" distill --teacher "$TEACHER" --student "$STUDENT" --train pairs.tsv --dev pairs.tsv
        --dim-match project --steps 9 --batch 4 --lr 1e-3 --evaluate-every 4 --checkpoint-every 3 --cache cache
        --threads 1 --resume --output state/model)
      ;;
    stopped) command=("$tools/crash_check" stop) ;;
    model) command=("$PROGRAM" model new --from "$TEACHER" --text pairs.tsv --vocab-size 60 state/out) ;;
    model-replace)
      quietly "$PROGRAM" model new --from "$TEACHER" --text pairs.tsv --vocab-size 60 state/out
      command=("$PROGRAM" model new --kind copy --from "$TEACHER" --replace state/out)
      ;;
    lexical) command=("$PROGRAM" lexical build state/out --language en --threads 1 en.tsv) ;;
    encode) command=("$PROGRAM" encode --model "$TEACHER" --threads 1 --replace --output state/out.npy en.txt) ;;
    encode-lines) command=("$PROGRAM" encode --model "$TEACHER" --threads 1 --replace --output state/out.jsonl en.txt) ;;
    *) echo "no writer '$writer'" && exit 2 ;;
  esac
}

quietly "$PROGRAM" index new --model "$TEACHER" first
quietly "$PROGRAM" index add first --ids first.tsv
for writer in "${writers[@]}"; do
  rm -rf state crashed new old
  mkdir state
  prepare
  cp -r state old
  if [ $writer = stopped ]; then # it ends as if nobody had stopped it
    writer=checkpoint prepare
    quietly "${command[@]}"
    prepare
  else
    quietly "${command[@]}"
  fi
  mv state new
  cp -r old state
  last="${command[*]}"
  "$tools/crash_states" -n "${STATES:-8}" -s "${SEED:-1}" -x "${LEFT_OUT:-0}" state crashed \
    "$tools/crash_check $writer" "${command[@]}" >counted 2>stderr || { fail "$writer" && head -n 60 stderr; }
  printf '%-14s %s\n' $writer "$(tail -n 1 counted)"
done
finish
