# Long commands killed (SIGKILL) at random moments and run again: what they leave in the end is, bit for bit, what an
# undisturbed run leaves. Training resumes, mining reuses its cache, an index stays whole in between.
#
#   KILLS=1000 bash tests/cli/test_kills.sh PROGRAM SOURCE_DIR [COMMAND...]
#
# KILLS (default 22) kills are shared out among the commands. SEED chooses the moments.
. "$(dirname "$0")/common.sh"
. "$SOURCE/tests/cli/made_up.sh"
kills=${KILLS:-22}
RANDOM=${SEED:-1}
shift 2
commands=("$@")
[ ${#commands[@]} -gt 0 ] || commands=(distill finetune autoencode trials mine encode index-add lexical words model-new)
[ $# -gt 0 ] || [ ! -e "$(dirname "$PROGRAM")/src/libcalque_faiss.so" ] || commands+=(approximate) # sanitizers have none

pairs 400 >pairs.tsv
pairs 8000 | awk -F '\t' '{ print $1, NR > "en.txt"; print $2, NR > "de.txt" }'
awk '{ print "d" NR "\t" $0 }' en.txt >en.tsv
awk 'NR <= 200 { print $0 "\t" (NR % 6) }' pairs.tsv >scores.tsv
made_up 200 | cut -f 1,2 >xy.tsv
STUDENT=$SOURCE/tests/golden/models/mpnet-mean
train="--cache cache --evaluate-every 70 --checkpoint-every 25 --batch 16 --lr 1e-3 --seed 3"
tiny="--vocab-size 30 --embedding 24 --hidden 48 --latent 48 --batch 16 --encoder-epochs 2 --decoder-epochs 4 --checkpoint-every 5"

# arguments NAME OUT: of the command, which writes to OUT.
arguments() {
  case $1 in
    distill) echo distill --teacher "$TEACHER" --student "$STUDENT" --train pairs.tsv --dev pairs.tsv --dim-match project \
      --steps 240 --balanced $train --output "$2" --resume ;;
    finetune) echo finetune --model "$TEACHER" --scored scores.tsv --steps 200 --batch 8 --checkpoint-every 20 --output "$2" --resume ;;
    autoencode) echo autoencode train "$2" xx,yy=xy.tsv $tiny --resume ;;
    trials) echo autoencode search "$2" xx,yy=xy.tsv --dev xx,yy=xy.tsv $tiny --trials 3 --resume ;;
    mine) echo mine --model "$TEACHER" --cache "$2.cache" --output "$2" en.txt de.txt ;;
    encode) echo encode --model "$TEACHER" --output "$2.npy" en.txt ;;
    index-add) echo index add "$2" --ids --batch 64 en.tsv ;;
    approximate) echo index approximate "$2" --threads 1 ;;
    lexical) echo lexical build "$2" --language en en.tsv ;;
    words) echo words train en.txt "$2" --dim 32 --epochs 10 --min-count 1 --threads 1 ;;
    model-new) echo model new --from "$TEACHER" --text pairs.tsv --vocab-size 80 "$2" ;;
    *) echo "unknown command '$1'" >&2 && exit 2 ;;
  esac
}
# begin NAME OUT: what is there before the first run.
begin() {
  rm -rf "$2" "$2".*
  case $1 in
    index-add) "$PROGRAM" index new --model "$TEACHER" "$2" 2>/dev/null ;;
    approximate) cp -r filled "$2" ;;
  esac
}
is_whole() { [ ! -d "$2" ] || case $1 in index-add | approximate) expect 0 index check "$2" ;; esac; }
# Killed after its result was in place: a finished run is not resumed, and what it was removing is removed by the next.
is_finished() {
  case $1 in distill | finetune | autoencode | lexical | model-new) ;; *) return 1 ;; esac
  [ -d killed ] && [ ! -e killed.work ] && rm -rf killed.work.tmp-*
}
result() {
  case $1 in
    index-add | approximate) "$PROGRAM" search "$2" --top 3000 "an old baker" "a green train" | sha256sum ;;
    *) find "$2"* -type f ! -path '*.cache/*' ! -name lock ! -name README.md | LC_ALL=C sort | while read -r file; do
      echo "${file/"$2"/OUT}"
      case $file in
        */table.md) sed -E 's/[0-9]+ \|$//' "$file" ;; # seconds
        *.jsonl | */trial*.json) sed -E "s/,?\"[a-z_]*seconds\": ?[0-9.e-]+//g; s,$2,OUT,g" "$file" ;;
        *) sha256sum <"$file" ;;
      esac
    done ;;
  esac
}
# left_over OUT: temporary files, after a run that was not killed.
left_over() { find . -maxdepth 1 \( -name "$1*.tmp-*" -o -name "$1.work" \) && find "$1"* -name '*.tmp-*' 2>/dev/null; }

expect 0 index new --model "$TEACHER" filled
expect 0 index add filled --ids en.tsv
n_each=$(((kills + ${#commands[@]} - 1) / ${#commands[@]})) total=0
for name in "${commands[@]}"; do
  begin "$name" whole
  start=$(date +%s%N)
  expect 0 $(arguments "$name" whole)
  took=$((($(date +%s%N) - start) / 1000000))
  wanted=$(result "$name" whole)
  begin "$name" killed
  n=0 rounds=0 runs=0
  failures_before=$failures
  while [ "$n" -lt "$n_each" ] && [ "$rounds" -lt $((20 * n_each)) ] && [ "$failures" -eq "$failures_before" ]; do
    rounds=$((rounds + 1)) code=0
    if ! is_finished "$name"; then
      "$PROGRAM" $(arguments "$name" killed) >stdout 2>stderr </dev/null &
      pid=$!
      sleep "$(awk -v r=$RANDOM -v ms="$took" 'BEGIN { printf "%.3f", r / 32768 * ms / 1000 * 0.9 }')"
      last="$name, kill $n"
      if kill -9 $pid 2>/dev/null; then n=$((n + 1)); fi
      wait $pid 2>/dev/null
      code=$?
      [ $code -eq 137 ] || [ $code -eq 0 ] || fail "exit code $code"
      is_whole "$name" killed
    fi
    if [ $code -eq 0 ] || [ "$n" -eq "$n_each" ] || [ $((RANDOM % 8)) -eq 0 ]; then # compare, and begin anew
      [ $code -eq 0 ] || is_finished "$name" || expect 0 $(arguments "$name" killed)
      [ "$(result "$name" killed)" = "$wanted" ] || { fail "another result after $n kills" && diff <(echo "$wanted") <(result "$name" killed) | head; }
      [ -z "$(left_over killed)" ] || fail "left behind: $(left_over killed)"
      begin "$name" killed
      runs=$((runs + 1))
    fi
  done
  [ "$n" -eq "$n_each" ] || fail "$name: only $n kills in $rounds rounds"
  total=$((total + n))
  printf '%-12s %4d kills, %4d results the same, of runs of %d ms\n' "$name" "$n" "$runs" "$took"
done
echo "$total kills"
finish
