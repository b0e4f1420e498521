# calque align: two documents with known beads, every format of the output, and documents that do not belong together.
. "$(dirname "$0")/common.sh"

align="align --model $SOURCE/models/calque-base --cache cache"

# Forty rows of the sample. The target lacks row 10, has a line of its own after row 20, and rows 30 and 31 in one line.
gzip -dc "$SOURCE/sample/test/en-de.tsv.gz" | awk -F '\t' '!seen[$1]++' | head -n 40 >rows
cut -f 1 rows >en.txt
cut -f 2 rows | awk 'NR == 10 { next } NR == 30 { printf "%s ", $0; next } { print } NR == 20 { print "Übrigens: 1888 schneite es." }' >de.txt

expect 0 $align --lines --languages en,de en.txt de.txt -o out.beads
stderr_has "38 pairs; sentences without a translation: 1 of the source, 1 of the target"
cut -d : -f 1,2 out.beads >beads
for bead in '[8]:[8]' '[9]:[]' '[10]:[9]' '[19]:[18]' '[]:[19]' '[20]:[20]' '[29, 30]:[29]' '[39]:[38]'; do
  grep -qxF "$bead" beads || fail "$bead is not among the beads"
done
awk -F : '$1 == "[]" || $2 == "[]" { next } $3 < 0 || $3 > 0.8 { bad++ } END { exit bad > 0 }' out.beads || fail "a cost is out of range"

# The same pairs in each format.
expect 0 $align --lines --languages en,de en.txt de.txt
[ "$(wc -l <stdout)" -eq 38 ] || fail "not 38 rows"
paste <(sed -n '30,31p' en.txt | paste -s -d ' ') <(sed -n '30p' de.txt) >expected
cut -f 2,3 stdout | grep -qxFf expected || fail "the row of two sentences is not there"
cut -f 2,3 stdout >pairs
for ending in tmx xlf csv po jsonl moses html tsv.gz; do
  expect 0 $align --lines --languages en,de en.txt de.txt -o "out.$ending"
done
for ending in tmx xlf csv po; do
  expect 0 data convert "out.$ending" --columns en,de
  cut -f 1,2 stdout >back
  same back pairs
done
same <(paste out.en out.de) pairs
same <(gzip -dc out.tsv.gz | cut -f 2,3) pairs
[ "$(wc -l <out.jsonl)" -eq 40 ] || fail "JSON lacks the sentences without a translation"
grep -q '"source": "", .*"target": "Übrigens: 1888 schneite es.".*"target_numbers": \[19\]}' out.jsonl || fail "JSON has no gap"
[ "$(grep -c 'class="bead gap"' out.html)" -eq 2 ] || fail "the page does not mark the gaps"
grep -q '<div dir="auto" lang="de"><p>Übrigens: 1888' out.html || fail "the page has no direction and language"

# Text is split into sentences, whatever the documents' format; its sentences have the numbers from 0.
{ echo '<html lang="en"><title>x</title><body><p>'; cat en.txt; echo '</p></body></html>'; } >en.html
paste -s -d ' ' de.txt >whole.txt
expect 0 $align en.html whole.txt -o whole.beads
stderr_has "pairs"

# Headings that the other document lacks stay alone: each is a block.
cut -f 1 rows | sed 's/.*/<p>&<\/p>/; 10~10i <h2>More of the story</h2>' >headed.html
cut -f 2 rows | sed 's/.*/<p>&<\/p>/' >plain.html
expect 0 $align --languages en,de headed.html plain.html -o headed.jsonl
[ "$(grep -c '"source": "More of the story", .*"target": "", ' headed.jsonl)" -eq 4 ] || fail "headings were joined to text"

# Folders: documents are paired by their names, and by what they say; one has no partner.
mkdir -p from/en to/de
head -n 20 en.txt >from/en/a.txt && tail -n 20 en.txt >from/en/b.txt
head -n 19 de.txt >to/de/a.txt && tail -n 20 de.txt >to/de/zwei.txt
expect 0 $align --lines --languages en,de from to -o folders.beads
[ "$(grep -c '^#' folders.beads)" -eq 2 ] || fail "two pairs of documents expected"
grep -q "^# en/a.txt	de/a.txt" folders.beads && grep -q "^# en/b.txt	de/zwei.txt" folders.beads || fail "the wrong documents were paired"

# What does not belong together: exit code 3, and nothing is written.
cat "$SOURCE"/sample/documents/*.md | grep -v '^[#|-]' | grep ... | head -n 120 >other.txt
expect 3 $align --lines other.txt de.txt -o other.tsv
stderr_has "are not translations of each other"
absent other.tsv

# Another order, a copy, and too little to tell.
{ tail -n 15 de.txt; head -n 24 de.txt; } >moved.txt
expect 0 $align --lines en.txt moved.txt
stderr_has "another order"
expect 0 $align --lines en.txt en.txt
stderr_has "have the same text"
head -n 2 en.txt >two.txt
expect 0 $align --lines two.txt de.txt
stderr_has "too few sentences"

# Bad input.
: >empty.txt
expect 1 $align empty.txt de.txt
stderr_has "empty.txt: there is no sentence in it"
expect 1 $align nowhere.txt de.txt
stderr_has "nowhere.txt"
head -c 4000 /dev/urandom >noise.bin
expect 1 $align noise.bin de.txt
stderr_has "noise.bin"
expect 1 $align en.txt de.txt -o out.odt
stderr_has "alignments are not written"
expect 1 $align en.txt de.txt -o out.beads
stderr_has "--replace"
expect 1 $align --languages en,en en.txt de.txt -o same.moses
stderr_has "would be one"
expect 2 $align --languages en en.txt de.txt
stderr_has "needs two codes"
expect 2 $align --max-group 9 en.txt de.txt
expect 2 $align en.txt

finish
