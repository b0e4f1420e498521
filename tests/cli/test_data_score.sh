# calque data score: faults of known kinds, runs of shifted rows, files of few rows, formats, and what is refused.
. "$(dirname "$0")/common.sh"

score="data score --model $SOURCE/models/calque-small --cache cache"
gzip -dc "$SOURCE/sample/test/en-de.tsv.gz" >good.tsv

# a row for each fault, with its reason, after rows without one
{
  cat good.tsv
  printf 'The train leaves at 17 and arrives at 42 in the evening.\tDer Zug fährt um 17 ab und kommt um 93 am Abend an.\n'
  printf 'The museum is closed because the roof must be repaired.\tThe museum is closed because the roof must be repaired.\n'
  printf 'We wanted to buy a new table for our large kitchen.\tHier darf man nur mit einem Ausweis ins Schwimmbad gehen.\n'
  printf 'My grandmother bakes bread every Sunday for the village.\tMa grand-mère fait du pain tous les dimanches pour le village.\n'
  printf 'In the garden there are many trees and a small house.\tIm Garten gibt es there are many trees and a small house.\n'
} >faults.tsv
n=$(wc -l <good.tsv)
expect 0 $score faults.tsv
[ "$(wc -l <stdout)" -eq $((n + 5)) ] || fail "rows are missing"
cut -f 3- stdout | cmp -s - faults.tsv || fail "the rows are not those that were read"
[ "$(tail -n 5 stdout | cut -f 2 | tr '\n' ' ')" = "numbers copy unrelated language untranslated " ] ||
  fail "reasons are $(tail -n 5 stdout | cut -f 2 | tr '\n' ' ')"
tail -n 5 stdout | awk -F '\t' '$1 >= 0.5 { exit 1 }' || fail "a fault has a high probability"
head -n "$n" stdout | awk -F '\t' '$1 >= 0.5 { n++ } END { exit n < 0.6 * NR }' || fail "translations have low probabilities"

# --min-precision keeps what it says: the mean of the kept rows' probabilities, the highest first
cp stdout all
for share in 0.8 0.95; do
  expect 0 $score faults.tsv --min-precision $share
  awk -F '\t' -v p=$share '{ s += $1 } END { exit s < (p - 0.0001) * NR }' stdout || fail "the mean is below $share"
  stderr_has "$(wc -l <stdout) of $((n + 5)) rows kept"
  min=$(cut -f 1 stdout | sort -g | head -n 1)
  awk -F '\t' -v min="$min" '$1 > min' all | wc -l >above
  [ "$(cat above)" -le "$(wc -l <stdout)" ] || fail "a row with a higher probability was dropped"
done

# other punctuation is not a fault
printf 'We visited the pyramids in October.\tWir haben im Oktober die Pyramiden besichtigt.\n' >plain
printf 'We visited the pyramids in October\t»Wir haben, im Oktober, die Pyramiden besichtigt!«\n' >marks
cat good.tsv plain >a.tsv
cat good.tsv marks >b.tsv
expect 0 $score a.tsv
tail -n 1 stdout | cut -f 1 >a
expect 0 $score b.tsv
tail -n 1 stdout | cut -f 1 | paste a - | awk '{ exit !($2 > $1 - 0.3) }' || fail "punctuation costs too much"

# a run of shifted rows is found, with its rows and its shift
awk -F '\t' -v OFS='\t' '{ s[NR] = $1; t[NR] = $2 }
  END { for (i = 1; i <= NR; i++) { j = i < 100 || i > 140 ? i : i == 140 ? 100 : i + 1; print s[i], t[j] } }' \
  good.tsv >shifted.tsv
expect 0 $score shifted.tsv --json
grep -Eq 'rows (100|101) to (139|140|141) are shifted: their sources are translated 1 row earlier' stderr ||
  fail "the run is not reported: $(grep shifted stderr)"
[ "$(grep -c '"run": 1' stdout)" -ge 38 ] || fail "rows of the run are not marked"
[ "$(grep -c shifted stderr)" -eq 1 ] || fail "more runs than one"
expect 0 $score good.tsv
grep -q shifted stderr && fail "a run in a file without one"

# a file tells its own share: 2,000 translations, and the same with nine tenths of the targets elsewhere
gzip -dc "$SOURCE/sample/train/en-de.tsv.gz" | awk 'NR % 2 == 0' | head -n 2000 >many.tsv
awk -F '\t' -v OFS='\t' '{ s[NR] = $1; t[NR] = $2 }
  END { for (i = 1; i <= NR; i++) print s[i], t[i % 10 ? (i * 7 + 331) % NR + 1 : i] }' many.tsv >noise.tsv
share() { grep -o '[0-9.]* % translation' stderr | cut -d ' ' -f 1; }
expect 0 $score many.tsv --min-precision 0.95
awk -v p="$(share)" 'BEGIN { exit !(p > 75) }' || fail "$(share) % of translations alone are translations"
[ "$(wc -l <stdout)" -gt 900 ] || fail "only $(wc -l <stdout) of 2000 translations are kept"
expect 0 $score noise.tsv --min-precision 0.95
awk -v p="$(share)" 'BEGIN { exit !(p > 8 && p < 25) }' || fail "$(share) % are translations, expected 10"
cut -f 3- stdout | sort >kept
[ "$(sort -u many.tsv | comm -12 - <(sort -u kept) | wc -l)" -gt 170 ] || fail "translations are lost"
[ "$(wc -l <kept)" -lt 245 ] || fail "$(wc -l <kept) rows are kept, 200 are translations"

# few rows: what is assumed is said
head -n 100 good.tsv >hundred.tsv
expect 0 $score hundred.tsv
stderr_has "100 rows are few"
expect 0 $score plain
stderr_has "1 row: there is nothing to compare it with"
[ "$(awk -F '\t' '$1 > 0 && $1 < 1' stdout | wc -l)" -eq 1 ] || fail "a row has no probability"
printf 'Hello\tHallo\n12\t12\n' >short.tsv
expect 0 $score short.tsv
[ "$(wc -l <stdout)" -eq 2 ] || fail "short rows are missing"

# equal sides in all rows; empty sides
cut -f 1 hundred.tsv | awk -v OFS='\t' '{ print $0, $0 }' >equal.tsv
expect 0 $score equal.tsv --languages en,de
[ "$(awk -F '\t' '$1 < 0.5' stdout | wc -l)" -eq 100 ] || fail "copies are taken for translations"
{ printf '\tLeer.\n'; cat good.tsv; } >empty-side.tsv
expect 0 $score empty-side.tsv
[ "$(head -n 1 stdout)" = "$(printf '0.0000\tempty\t\tLeer.')" ] || fail "an empty side: $(head -n 1 stdout)"

# formats
expect 0 $score hundred.tsv -o out.tmx
grep -c '<prop type="score">[01].[0-9]* [a-z]*</prop>' out.tmx | grep -qx 100 || fail "no scores in TMX"
expect 0 $score hundred.tsv -o out.csv
[ "$(head -n 1 out.csv)" = "score,reason,en,de" ] || fail "the head of CSV: $(head -n 1 out.csv)"
expect 0 $score hundred.tsv --json -o out.jsonl
grep -Eq '^\{"line": 1, "score": [0-9.e-]+, "reason": "[a-z]+", "columns": \["The radio' out.jsonl || fail "JSON"

# refused
: >nothing.tsv
expect 1 $score nothing.tsv
stderr_has "nothing.tsv: there is no row with two sides"
printf 'Good.\tGut.\nBad \xff.\tSchlecht.\n' >invalid.tsv
expect 1 $score invalid.tsv
stderr_has "invalid.tsv:2:"
expect 0 $score invalid.tsv --skip-bad
stderr_has "1 rows left out: malformed"
printf 'one column\n' >column.tsv
expect 1 $score column.tsv
stderr_has "column.tsv:1:"
expect 2 $score good.tsv --languages en
stderr_has "expected 2"
expect 2 $score good.tsv --languages en,klingon
stderr_has "'klingon' is not a language that calque identifies"
expect 1 $score good.tsv -o out.json
stderr_has "out.json"
expect 1 $score absent.tsv
stderr_has "absent.tsv"

finish
