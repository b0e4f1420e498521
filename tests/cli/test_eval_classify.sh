# calque eval classify: classes learned from one file and found in others, and what is refused.
. "$(dirname "$0")/common.sh"

TEACHER=$SOURCE/sample/teacher
classes() { # FILE COLUMN FIRST STEP: sentences of three patterns of the sample
  gzip -dc "$SOURCE/sample/train/en-de.tsv.gz" | awk -F '\t' -v c="$2" -v first="$3" -v step="$4" '
    NR % step != first { next }
    /birthday/ { print $c "\tbirthday" }
    /Scientists/ { print $c "\tscience" }
    /o.clock/ { print $c "\ttime" }' >"$1"
}
classes learn.tsv 1 0 2
classes en.tsv 1 1 2
classes de.tsv 2 1 2
expect 0 eval classify --model "$TEACHER" --train learn.tsv en.tsv Deutsch=de.tsv
stderr_has "learn.tsv: 3 classes"
stdout_has "accuracy %"
stdout_has "Deutsch"
expect 0 eval classify --model "$TEACHER" --train learn.tsv --csv en.tsv de.tsv
awk -F , 'NR == 2 { exit !($3 > 0.95 && $4 > 0.95 && $5 < 0.7) }' stdout || fail "English is not told: $(cat stdout)"
awk -F , 'NR == 3 { exit !($3 > 0 && $3 < 0.9) }' stdout || fail "the English model tells German: $(cat stdout)"
expect 0 eval classify --model "$TEACHER" --train learn.tsv --json en.tsv
stdout_has '"macro_f1"'
cp stdout two
expect 0 eval classify --model "$TEACHER" --train learn.tsv --json en.tsv --threads 1
same two stdout

# Rows without a label and column names are left out and counted.
cp stdout two
for header in 'text\tlabel' 'Sentence\tGold_Label' 'text\tsubject'; do
  { printf "$header\n"; head -n 3 learn.tsv; printf 'A ship.\t-1\nA boat.\t-\n'; tail -n +4 learn.tsv; } >raw.tsv
  { printf "$header\n"; cat en.tsv; printf 'A ship.\t-1\n'; } >raw-en.tsv
  expect 0 eval classify --model "$TEACHER" --train raw.tsv --json raw-en.tsv
  stderr_has "raw.tsv: 3 classes"
  stderr_has "raw.tsv: left out: 2 rows without a label (-1 or -), the names of the columns"
  stderr_has "raw-en.tsv: left out: 1 rows without a label"
  same two <(sed 's/raw-en/en/g; s/raw/learn/g' stdout)
done
# Blanks around a label are not of it; columns in the other order are noticed.
sed 's/$/ /' learn.tsv >blanks.tsv
expect 0 eval classify --model "$TEACHER" --train blanks.tsv --json en.tsv
stderr_has "blanks.tsv: 3 classes"
{ printf 'label\ttext\n'; awk -F'\t' '{ print $2 "\t" $1 }' learn.tsv; } >swapped.tsv
expect 1 eval classify --model "$TEACHER" --train swapped.tsv en.tsv
stderr_has "swapped.tsv: the label is in column 1, expected in column 2"
tail -n +2 swapped.tsv >unnamed.tsv
expect 0 eval classify --model "$TEACHER" --train unnamed.tsv unnamed.tsv
stderr_has "rows: are these labels, in column 2?"
printf 'text\tlabel\na\t-1\n' >none.tsv
expect 1 eval classify --model "$TEACHER" --train none.tsv en.tsv
stderr_has "none.tsv: no row has a label"

expect 2 eval classify --model "$TEACHER" en.tsv
stderr_has "--train"
expect 2 eval classify --model "$TEACHER" --train learn.tsv --c 0 en.tsv
printf 'A ship.\tship\n' >other.tsv
expect 1 eval classify --model "$TEACHER" --train learn.tsv other.tsv
stderr_has "other.tsv: row 1 has the class 'ship'"
expect 1 eval classify --model "$TEACHER" --train other.tsv en.tsv
stderr_has "other.tsv: all rows are of one class"
printf 'A ship.\n' >bad.tsv
expect 1 eval classify --model "$TEACHER" --train bad.tsv en.tsv
stderr_has "bad.tsv:1: 1 column"
expect 1 eval classify --model "$TEACHER" --train learn.tsv bad.tsv
cat bad.tsv en.tsv >worse.tsv
expect 0 eval classify --model "$TEACHER" --train learn.tsv --skip-bad worse.tsv
stderr_has "1 malformed lines were skipped"

finish
