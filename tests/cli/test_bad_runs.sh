# Training that goes wrong: a rate too high, columns swapped. The model is never worse than at the start, and the exit
# code says that nothing was won.
. "$(dirname "$0")/common.sh"

sample=$SOURCE/sample
expect 0 model new --from "$sample/teacher" --kind new-vocabulary --vocab-size 50000 --text "$sample/train/en-de.tsv.gz" \
  student
stderr_has "the text makes a vocabulary of"
stderr_has "pieces, not 50000"
gzip -dc "$sample/dev/en-de.tsv.gz" | head -n 60 >dev.tsv
gzip -dc "$sample/train/en-de.tsv.gz" | awk -F '\t' '{ print $2 "\t" $1 }' >swapped.tsv
run="distill --teacher $sample/teacher --student student --dev dev.tsv --cache cache"

# Too high a rate: the second collapse ends the run, and the model of the start is written.
expect 3 $run --train "$sample/train/en-de.tsv.gz" --lr 0.5 --steps 200 --evaluate-every 20 --batch 16 --output high --json
stdout_has '"steps": 40, "best_step": 0'
stdout_has '"collapsed": true'
stderr_has "COLLAPSE: the student's vectors of dev hardly differ"
stderr_has "WORSE than after step 0"
stderr_has "the run ends here, with the best model so far: that after step 0"
stderr_has "no step made the model better"
cut -f 2 dev.tsv >german.txt
expect 0 encode --model student --output before.npy german.txt
expect 0 encode --model high --output after.npy german.txt
same before.npy after.npy

# The same with more threads.
expect 3 $run --train "$sample/train/en-de.tsv.gz" --lr 0.5 --steps 200 --evaluate-every 20 --batch 16 --output again \
  --threads 2
same high/model.safetensors again/model.safetensors

# A rate with which nothing is finite any more: the best model so far, too.
expect 3 $run --train "$sample/train/en-de.tsv.gz" --lr 1e30 --clip 0 --steps 40 --evaluate-every 20 --batch 16 \
  --output broken --json
stdout_has '"best_step": 0'
stderr_has "not finite at step"
stderr_has "the run ends here, with the best model so far: that after step 0"
same broken/model.safetensors high/model.safetensors
[ ! -e broken.work ] || fail "work in progress was left behind"
expect 3 extend "$sample/teacher" --to de=dev.tsv --lr 1e30 --steps 40 --cache cache --output extended
grep -q 'not finite at step\|weights that are not numbers' stderr || fail 'no word of the numbers'
expect 0 model check extended extended
[ ! -e extended.work ] && [ ! -e extended.extend ] || fail "work in progress was left behind"

# Swapped columns: said before training; a falling score is said, too.
expect 3 $run --train swapped.tsv --lr 3e-4 --steps 20 --batch 16 --output swapped
stderr_has "swapped: the first column does not look like the teacher's language"
stderr_has "are the columns swapped?"
stderr_has "WORSE than after step 0"

# The teacher is asked about the sentences that are drawn and no others.
expect 0 distill --teacher "$sample/teacher" --student student --train "$sample/train/en-de.tsv.gz" --cache few --steps 2 \
  --batch 16 --lr 1e-5 --output few-steps
! grep -q "swapped\|looks like" stderr || fail "columns that are in order were called into question"
n=$(($(wc -c <few/vectors/*/vectors) / (128 * 4)))
[ "$n" -ge 20 ] && [ "$n" -le 40 ] || fail "the teacher was asked about $n sentences"
finish
