# calque autoencode: search, ablate.
. "$(dirname "$0")/common.sh"

awk 'BEGIN {
  x = 1
  n = split("the cat dog sees hears likes red old small house", a)
  split("lo gato can vido sento amo roso veco picol casa", b)
  for (i = 0; i < 100; i++) {
    s = t = ""; x = x * 16807 % 2147483647; words = 4 + x % 2
    for (k = 0; k < words; k++) {
      x = x * 16807 % 2147483647; w = int(x / 7) % n + 1
      s = s (k ? " " : "") a[w]; t = t (k ? " " : "") b[w]
    }
    print s "\t" t
  }
}' >pairs.tsv
head -n 20 pairs.tsv >dev.tsv
fixed="--vocab-size 30 --embedding 8 --hidden 8 --batch 16 --layers 1"
train="xx,yy=pairs.tsv --dev xx,yy=dev.tsv $fixed --encoder-epochs 1 --decoder-epochs 3 --best-by chrf"
rows() { grep -c '^| trial-' "$1"; }

# Five trials of which two go on; what is fixed is not searched, what has a range stays within.
search="$train --trials 5 --rungs 2 --eta 2 --range latent=8:12 --range lr=1e-3:2e-3 --range noise=0.1:0.2"
expect 0 autoencode search found $search --threads 1
cp stdout table
lines_are table 9
same table found/table.md
[ "$(rows table)" = 7 ] || fail "not five trials and two of them again"
[ "$(grep -c rung-2 table)" = 2 ] || fail "not two trials on the second rung"
grep -q '| 4 |' table || fail "the second rung has not all epochs"
grep '^| trial-' table | grep -v 'latent \(8\|9\|10\|11\|12\),' && fail "a latent out of its range"
grep '^| trial-' table | grep -v 'lr 0.001' | grep -v 'lr 0.002' && fail "a rate out of its range"
grep -q 'noise 0.1' table || fail "noise is not searched"
grep -q 'batch\|hidden\|embedding\|layers' table && fail "what is fixed is searched"
awk -F'|' '/^\| trial/ { if (n++ && $6 > last) exit 1; last = $6 }' table || fail "not by chrF, the best first"
best=$(awk -F'|' '/rung-2/ { gsub(/ /, "", $2); print $2; exit }' table)
[ -d "found/$best" ] || fail "the best model is not kept"
[ "$(find found -name autoencoder.json | wc -l)" = 1 ] || fail "other models than the best are kept"

# The same whatever the threads; other values by another seed; stopped and gone on with.
values() { sed 's/|[^|]*|$//' "$1"; }
expect 0 autoencode search again $search --threads 2
values table >table.values
values stdout >again.values
same table.values again.values
expect 0 autoencode search other $search --seed 2
values stdout | diff -q - table.values >/dev/null && fail "another seed gives the same trials"
rm again/trial-02-rung-1.json again/table.md
expect 0 autoencode search again $search --resume
values stdout >again.values
same table.values again.values
expect 1 autoencode search again $search
stderr_has "again: exists already"
expect 1 autoencode search again $search --resume --alpha 0.7
stderr_has "made with other options"
sed -i 's/"seconds"/"second"/; s/"bleu"/"blue"/' again/trial-01-rung-1.json
expect 1 autoencode search again $search --resume
stderr_has 'again/trial-01-rung-1.json: "bleu" is missing'

# Refused.
expect 1 autoencode search new xx,yy=pairs.tsv $fixed
stderr_has "without dev"
for range in lr lr= lr=1 lr=1:x lr=1:2:3; do
  expect 2 autoencode search new $train --range "$range"
done
expect 1 autoencode search new $train --range colour=1:2
stderr_has "'colour' is no value that can be searched"
expect 1 autoencode search new $train --range noise=2:1
stderr_has "expected the lower first"
expect 1 autoencode search new $train --range latent=0:8
stderr_has "above 0"
expect 2 autoencode search new $train --rungs 0
[ ! -e new ] || fail "something was left behind"

# A loss that is no number is one trial's end, not the search's.
expect 0 autoencode search wild $train --trials 3 --rungs 1 --range beta=1e300:1e301 --clip-norm 0
grep -q 'not finite' wild/table.md || fail "the failure is not told"
find wild -name '*.work' | grep -q . && fail "a failed trial's work is left behind"

# One thing changed at a time.
expect 0 autoencode ablate changes $train --latent 8 --only noise-0 --only both-ways --only one-way --only at-once
[ "$(grep -c '^| ' stdout)" = 5 ] || fail "not the base and three changes that are changes"
for name in base noise-0 one-way at-once; do grep -q "^| $name |" changes/table.md || fail "no row $name"; done
[ "$(find changes -name autoencoder.json | wc -l)" = 0 ] || fail "models are kept"
expect 0 autoencode ablate changes $train --latent 8 --only noise-0 --keep --resume
[ "$(find changes -name autoencoder.json | wc -l)" = 0 ] || fail "what is done is done again"
expect 1 autoencode ablate new $train --only colour
stderr_has "there is no ablation 'colour'"
[ ! -e new ] || fail "something was left behind"
# Help names every change there is, and no other.
expect 0 autoencode ablate --help
cp stdout help.txt
expect 0 autoencode ablate all xx,yy=pairs.tsv --dev xx,yy=dev.tsv $fixed --latent 8 --encoder-epochs 0.2 --decoder-epochs 0.2
for name in $(sed -n 's/^| \([a-z0-9.-]*\) |.*/\1/p' all/table.md); do
  [ "$name" = trial ] || [ "$name" = base ] || grep -qF -- "$name" help.txt || fail "help lacks $name"
done
finish
