# calque autoencode: search, ablate.
. "$(dirname "$0")/../cli/common.sh"
. "$SOURCE/tests/cli/made_up.sh"

made_up 100 | cut -f 1,2 >pairs.tsv
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
stderr_has "again: already exists"
expect 1 autoencode search again $search --resume --alpha 0.7
stderr_has "made with other options or data"
# Other data: a file that is written again, and another file.
cp dev.tsv dev-2.tsv
expect 1 autoencode search again ${search/dev.tsv/dev-2.tsv} --resume
stderr_has "made with other options or data"
touch -r dev.tsv when
touch -d 2001-01-01 dev.tsv
expect 1 autoencode search again $search --resume
stderr_has "made with other options or data"
touch -r when dev.tsv
expect 0 autoencode search again $search --resume
sed -i 's/"seconds"/"second"/; s/"bleu"/"blue"/' again/trial-01-rung-1.json
expect 1 autoencode search again $search --resume
stderr_has 'again/trial-01-rung-1.json: "bleu" is missing'

# Refused.
expect 1 autoencode search new xx,yy=pairs.tsv $fixed
stderr_has "without dev"
for range in lr lr= lr=1 lr=1:x lr=1:2:3; do
  expect 2 autoencode search new $train --range "$range"
done
expect 1 autoencode search new $train --range color=1:2
stderr_has "'color' is not an option whose values can be searched"
expect 1 autoencode search new $train --range noise=2:1
stderr_has "expected the lower first"
expect 1 autoencode search new $train --range latent=0:8
stderr_has "above 0"
expect 2 autoencode search new $train --rungs 0
for range in layers=-1:3 layers=1:99 word-dropout=0:1 lr=-1:-1; do
  expect 1 autoencode search new $train --range $range
done
expect 1 autoencode search new $train --range layers=-1:3
stderr_has "layers is -1, expected 1 to 64"
for range in layers=1:1e10 layers=-1e300:3 layers=1.5:2.5; do
  expect 1 autoencode search new $train --range $range
  stderr_has "layers from"
  stderr_has "expected whole numbers"
done
expect 1 autoencode search new ${train/dev.tsv/none.tsv}
stderr_has "none.tsv: cannot open"
expect 2 autoencode search new
stderr_has "expected DIRECTORY PAIRS..."
[ ! -e new ] || fail "something was left behind"

# One value is that value; what is drawn is written as it is trained with, so that a trial can be made by hand.
one="$train --trials 1 --rungs 1 --together 0"
expect 0 autoencode search fixed $one --range lr=0.0123456:0.0123456 --range noise=0.1:0.2 --range latent=9:9
for value in alpha beta noise encoder-dropout decoder-dropout latent lr; do
  x=$(sed -n "s/.* $value \([0-9.]*\)[, ].*/\1/p" fixed/table.md | head -n 1)
  [ -n "$x" ] || fail "$value is not written"
  echo "--$value $x"
done >values.args
grep -qx -- "--lr 0.0123456" values.args || fail "not the requested rate"
grep -qx -- "--latent 9" values.args || fail "not the requested dimension"
expect 0 autoencode train by-hand $train --together 0 $(cat values.args)
diff -r fixed/trial-01-rung-1 by-hand -x log.jsonl >/dev/null || fail "made by hand the trial is another"

# Only a directory of trials is taken, and only what is theirs is removed from it.
mkdir mine empty
echo text >mine/letter.txt
for how in --replace --resume; do
  expect 1 autoencode search mine $one $how
  stderr_has "mine: holds 'letter.txt' and no trials"
  expect 1 autoencode ablate mine $train --only noise-0 $how
  stderr_has "mine: holds 'letter.txt' and no trials"
done
[ "$(ls mine)" = letter.txt ] || fail "something came or went"
expect 0 autoencode search empty $one --replace
echo text >empty/letter.txt
mkdir empty/other
expect 1 autoencode search empty ${one/dev.tsv/none.tsv} --replace
[ -f empty/trial-01-rung-1.json ] || fail "the trials are gone before the text is looked for"
expect 0 autoencode ablate empty $train --only noise-0 --replace
ls empty | tr '\n' ' ' >listed
[ "$(cat listed)" = "base.json letter.txt noise-0.json other table.md trials.txt " ] || fail "left are: $(cat listed)"
for line in ../mine .. a/b; do
  printf 'calque autoencode trials\nbase\n%s\n' "$line" >empty/trials.txt
  expect 1 autoencode search empty $one --replace
  stderr_has "empty/trials.txt:3: expected a trial's name"
done
echo other >empty/trials.txt
expect 1 autoencode search empty $one --replace
stderr_has "empty/trials.txt:1: expected calque autoencode trials"
[ -f mine/letter.txt ] || fail "a name was followed out of the directory"

# A loss that is no number is one trial's end, not the search's.
expect 0 autoencode search wild $train --trials 3 --rungs 1 --range beta=1e300:1e301 --clip-norm 0
grep -q 'not finite' wild/table.md || fail "the failure is not told"
find wild -name '*.work' | grep -q . && fail "a failed trial's work is left behind"

# One thing changed at a time.
expect 0 autoencode ablate changes $train --latent 8 --only noise-0 --only both-ways --only one-way --only at-once
[ "$(grep -c '^| ' stdout)" = 5 ] || fail "not the base and three changes that are changes"
for name in base noise-0 one-way at-once; do grep -q "^| $name |" changes/table.md || fail "no row $name"; done
[ "$(find changes -name autoencoder.json | wc -l)" = 0 ] || fail "models are kept"
stderr_has "both-ways is left out: it changes nothing"
expect 0 autoencode ablate changes $train --latent 8 --only noise-0 --keep --resume
[ "$(find changes -name autoencoder.json | wc -l)" = 0 ] || fail "what is done is done again"
[ "$(grep -c '^| ' stdout)" = 5 ] || fail "the other trials are gone from the table"
same stdout changes/table.md
# What an earlier call has kept stays.
expect 0 autoencode ablate changes $train --latent 8 --only layers-2 --keep --resume
[ "$(grep -c '^| ' stdout)" = 6 ] || fail "not all trials are in the table"
expect 0 autoencode ablate changes $train --latent 8 --only layers-2 --only alpha-0 --resume
[ "$(find changes -name autoencoder.json)" = changes/layers-2/autoencoder.json ] || fail "not what was kept is there"
expect 0 autoencode search kept $search --keep
expect 0 autoencode search kept $search --resume
[ "$(find kept -name autoencoder.json | wc -l)" = 2 ] || fail "models that were kept are gone"
# Every record counts, this call's or not.
echo '{' >changes/one-way.json
expect 1 autoencode ablate changes $train --latent 8 --only noise-0 --resume
stderr_has "changes/one-way.json"
echo '{"name": "base"}' >changes/one-way.json
expect 1 autoencode ablate changes $train --latent 8 --only noise-0 --resume
stderr_has "changes/one-way.json: is a record of 'base'"
# What cannot be made is left out, and the rest goes on.
paste <(cut -f 1 pairs.tsv) <(cut -f 2 pairs.tsv | tr a-y b-z) >third.tsv
three="xx,yy=pairs.tsv xx,zz=third.tsv --dev xx,yy=dev.tsv $fixed --encoder-epochs 0 --decoder-epochs 0.2 --latent 8"
expect 0 autoencode ablate three $three --only adversary-0.1 --only feed-both
stderr_has "adversary-0.1 is left out: a discriminator is for two languages, there are 3"
[ "$(grep -c '^| ' stdout)" = 3 ] || fail "the change after what is left out is not made"
expect 0 autoencode ablate three $three --only adversary-0.1 --resume
find three -name 'adversary*' | grep -q . && fail "what is left out leaves something"
expect 0 autoencode train two xx,yy=pairs.tsv $fixed --latent 8 --encoder-epochs 0 --decoder-epochs 0.2
joining="xx,zz=third.tsv --join two --dev xx,zz=third.tsv $fixed --encoder-epochs 0 --decoder-epochs 0.2"
expect 0 autoencode ablate joined $joining --only shared-latent --only feed-both
stderr_has "shared-latent is left out: shared-latent excludes join"
[ "$(grep -c '^| ' stdout)" = 3 ] || fail "the change after what is left out is not made"
# So is what is refused only when text and a teacher have been read, and when it would be by the options alone.
taught="xx,yy=pairs.tsv --dev xx,yy=dev.tsv $fixed --encoder-epochs 0.2 --decoder-epochs 0.2 --latent 24"
taught="$taught --teacher $TEACHER --teacher-language xx"
HOME=$tmp expect 0 autoencode ablate taught $taught --only latent-16 --only latent-as-states --only feed-both
stderr_has "latent-16 is left out: $TEACHER: vectors of 24 dimensions, the autoencoders' have 16"
[ "$(grep -c '^| ' stdout)" = 4 ] || fail "the changes after what is left out are not made"
find taught -name 'latent-16*' | grep -q . && fail "what is left out leaves something"
expect 0 autoencode ablate alone xx,yy=pairs.tsv --dev xx,yy=dev.tsv $fixed --alpha 0 --distance 0 --encoder-epochs 0 \
  --decoder-epochs 0.2 --latent 8 --only encoders-first --only feed-both
stderr_has "encoders-first is left out: losses weighted"
[ "$(grep -c '^| ' stdout)" = 3 ] || fail "the change after what is left out is not made"
# The base is not left out.
expect 1 autoencode ablate bad $three --adversary 0.1 --only feed-both
stderr_has "a discriminator is for two languages"
expect 1 autoencode ablate new $train --only color
stderr_has "there is no ablation 'color'"
[ ! -e new ] || fail "something was left behind"

# --list names every change there is, and no other: each is made or left out.
expect 0 autoencode ablate --list
cp stdout changes.list
lines_are changes.list 45
sort changes.list | uniq -d | grep -q . && fail "a change is listed twice"
each="xx,yy=pairs.tsv --dev xx,yy=dev.tsv $fixed --latent 8 --encoder-epochs 0.2 --decoder-epochs 0.2"
expect 0 autoencode ablate all $each $(sed 's/^/--only /' changes.list)
{
  sed -n 's/^| \([a-z0-9.-]*\) |.*/\1/p' all/table.md | grep -vx 'trial\|base'
  sed -n 's/.*ablation: \([a-z0-9.-]*\) is left out: .*/\1/p' stderr
} | sort >told.list
sort changes.list | diff - told.list || fail "the list is not what is made and what is left out"
rows=$(sed 1,2d all/table.md | wc -l)
[ "$rows" = 31 ] || fail "not the base and 30 changes: $rows rows"
expect 2 autoencode ablate
stderr_has "expected DIRECTORY PAIRS..."

# What can be searched is an option of that name.
expect 0 autoencode search --list
cp stdout values.list
lines_are values.list 16
grep -q "^layers	1	3$" values.list || fail "the usual layers are not listed"
grep -qx noise values.list || fail "noise is not listed"
expect 0 autoencode train --help
for name in $(cut -f 1 values.list); do grep -q -- " --$name " stdout || fail "--$name is no option"; done
finish
