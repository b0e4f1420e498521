# calque data corpus: counts that add up from step to step, what is done already, the report, and bad configurations.
. "$(dirname "$0")/common.sh"

gzip -dc "$SOURCE/sample/test/en-de.tsv.gz" | awk -F '\t' '!seen[$1]++' | head -n 60 >rows.tsv
{
  cat rows.tsv
  printf 'It costs 12 euros.\tEs kostet 15 Euro.\nNo change\tNo change\nThe choir sings.\tхор поёт\n'
  sed -n 1p rows.tsv
} >raw.tsv
cat >corpus.ini <<'END'
# rows that exist
[convert]
input = raw.tsv
from = tsv

[filter]
languages = en,de
drop = numbers
[dedup]
near = 0.9
; the division
[split]
dev = 5
test = 7
output = train.tmx
languages = en,de
END

expect 0 data corpus corpus.ini -o out
stderr_has "convert: 64 rows read, 64 written"
stderr_has "filter: 64 rows read, 61 written; 1 different numbers, 1 identical sides, 1 another script"
stderr_has "dedup: 61 rows read, 60 written; 1 repeated"
stderr_has "split: 60 rows read, 48 written; 12 held out"
[ "$(wc -l <out/dev.tsv)" -eq 5 ] && [ "$(wc -l <out/test.tsv)" -eq 7 ] || fail "dev has 5 rows, test 7"
expect 0 data convert out/train.tmx --columns en,de
cat stdout out/dev.tsv out/test.tsv | LC_ALL=C sort >together
LC_ALL=C sort rows.tsv >expected
same together expected
for text in 'filter</h2>' 'It costs 12 euros.' 'Es kostet 15 Euro.' 'different numbers <span class="count">1</span>' \
  'repeated <span class="count">1</span>' 'Characters of the source' 'source</span><span>en'; do
  grep -qF "$text" out/report.html || fail "the report lacks: $text"
done

# A second run does nothing, one with another filter begins there, and changed text begins everything.
expect 0 data corpus corpus.ini -o out
[ "$(grep -c 'done already' stderr)" -eq 4 ] || fail "not all steps were done already"
sed -i 's/^drop = numbers/max-ratio = 2/' corpus.ini
expect 0 data corpus corpus.ini -o out
stderr_has "convert (done already)"
stderr_has "filter: 64 rows read, 62 written"
printf 'One more line.\tNoch eine Zeile.\n' >>raw.tsv
expect 0 data corpus corpus.ini -o out
stderr_has "convert: 65 rows read"

# Documents: aligned in order, or mined.
head -n 40 rows.tsv | cut -f 1 >en.txt
head -n 40 rows.tsv | cut -f 2 >de.txt
for step in align mine; do
  printf '[%s]\nsource = en.txt\ntarget = de.txt\nmodel = %s\ncache = cache\n' "$step" "$SOURCE/models/calque-base" >$step.ini
  expect 0 data corpus $step.ini -o $step
  [ "$(wc -l <$step/train.tsv)" -ge 36 ] || fail "$step found few pairs"
  cut -f 1,2 $step/train.tsv | grep -qxFf <(head -n 40 rows.tsv) || fail "$step has no right pair"
  grep -q 'Scores of all pairs' $step/report.html || fail "the report has no scores"
done

# Probabilities: the report has what each threshold would keep, and what was dropped with its reason.
{ head -n 40 rows.tsv; paste <(sed -n '1,20p' rows.tsv | cut -f 1) <(sed -n '41,60p' rows.tsv | cut -f 2); } >mixed.tsv
printf '[convert]\ninput = mixed.tsv\nfrom = tsv\n[score]\nmodel = %s\ncache = cache\nmin-precision = 0.97\n' \
  "$SOURCE/models/calque-base" >score.ini
expect 0 data corpus score.ini -o score
grep -qxFf score/train.tsv <(head -n 40 rows.tsv) || fail "no right row was kept"
[ "$(wc -l <score/train.tsv)" -le 42 ] && [ "$(wc -l <score/train.tsv)" -ge 30 ] || fail "the wrong rows were kept"
grep -q 'Estimated precision' score/report.html || fail "the report has no precision"
grep -q 'unrelated <span' score/report.html || fail "the report has no reason"

# All of the configuration, with every section; it can be read again.
expect 0 data corpus --print-config
for section in align mine convert score filter dedup split; do stdout_has "[$section]"; done
stdout_has "#near = 0"
cp stdout whole.ini
expect 1 data corpus whole.ini
stderr_has "one section must say where the text is from, there are 3"

bad() { # TEXT MESSAGE
  printf "$1" >bad.ini
  expect 1 data corpus bad.ini -o none
  stderr_has "$2"
  absent none
}
bad '[convert]\ninput = raw.tsv\n[fliter]\n' "bad.ini:3: there is no step 'fliter', did you mean 'filter'?"
bad '[convert]\ninput = raw.tsv\n[filter]\nmax-rato = 2\n' "bad.ini:4: unknown option max-rato, did you mean max-ratio"
bad '[convert]\ninput = raw.tsv\n[filter]\nmax-ratio = two\n' "bad.ini:4: max-ratio"
bad '[convert]\ninput = raw.tsv\n[filter]\noutput = x\n' "bad.ini:4: the step itself sets output"
bad 'input = raw.tsv\n' "bad.ini:1: an option before the first [section]"
bad '[convert\n' "bad.ini:1: a section is written [name]"
bad '[convert]\ninput = raw.tsv\n[filter]\n[filter]\n' "bad.ini:4: a second section [filter]"
bad '[filter]\n' "there are 0"
bad '' "there are 0"
expect 1 data corpus nowhere.ini
stderr_has "nowhere.ini"
expect 2 data corpus
printf '[convert]\ninput = raw.tsv\n[split]\noutput = ../x.tsv\n' >bad.ini
expect 1 data corpus bad.ini -o other
stderr_has "a name, without a folder"

finish
