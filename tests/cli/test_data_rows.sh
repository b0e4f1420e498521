# calque data pivot, sample, dedup, filter, stats.
. "$(dirname "$0")/common.sh"

gives() { # EXPECTED COMMAND ARGUMENTS...: standard output is this
  local expected=$1
  shift
  expect 0 data "$@"
  printf "$expected" >expected
  same expected stdout
}

mkdir parts
export TMPDIR=$PWD/parts # others may be at work in /tmp

# Pivot: the first file's order, several partners, columns that are joined on.
printf 'A cat.\tUn chat.\nA dog.\tUn chien.\na dog\tLe chien.\nNo.\tNon.\n' >en-fr.tsv
printf 'A dog.\tUn cane.\nYes.\tSì.\nA cat.\tUn gatto.\nA cat.\tIl gatto.\n' >en-it.tsv
gives 'Un chat.\tUn gatto.\nUn chat.\tIl gatto.\nUn chien.\tUn cane.\n' pivot en-fr.tsv en-it.tsv
stderr_has "8 rows read, 3 written; 2 of the first, without a partner, 1 of the second, without a partner"
gives 'Un chat.\tUn gatto.\nUn chat.\tIl gatto.\nUn chien.\tUn cane.\nLe chien.\tUn cane.\n' \
  pivot en-fr.tsv en-it.tsv --match normalized
gives 'Un chat.\tUn gatto.\nUn chien.\tUn cane.\n' pivot en-fr.tsv en-it.tsv --max-partners 1
stderr_has "1 with more partners than max-partners"
awk -F '\t' '{ print $2 "\t" $1 "\tmore" }' en-it.tsv >it-en.tsv
gives 'Un chat.\tUn gatto.\tmore\nUn chat.\tIl gatto.\tmore\nUn chien.\tUn cane.\tmore\n' pivot --on 1,2 en-fr.tsv it-en.tsv
expect_from en-it.tsv 0 data pivot en-fr.tsv - # of standard input nobody knows the size: through parts on disk
sort stdout >got
printf 'Un chat.\tIl gatto.\nUn chat.\tUn gatto.\nUn chien.\tUn cane.\n' >expected
same expected got
stderr_has "2 of the first, without a partner, 1 of the second, without a partner"
awk 'BEGIN { for (i = 0; i < 30000; i++) printf "sentence number %d of many\tphrase %d\n", i % 20000, i }' >many-a.tsv
awk 'BEGIN { for (i = 9999; i < 25000; i++) printf "sentence number %d of many\tfrase %d\n", i, i }' >many-b.tsv
expect 0 data pivot many-a.tsv many-b.tsv -o whole.tsv
expect 0 data pivot many-a.tsv many-b.tsv --memory 0.001 -o parts.tsv
stderr_has "45001 rows read, 10002 written; 19998 of the first, without a partner, 5000 of the second, without a partner"
lines_are whole.tsv 10002
sort whole.tsv >a && sort parts.tsv >b
same a b
printf '\xef\xbb\xbf\xef\xbb\xbfx\tone\n\xef\xbb\xbfy\ttwo\r\r\n' >marked-a.tsv # a row's own marks and carriage returns stay
printf 'X\tone\nY\ttwo\nZ\ttwo\r\r\n' >marked-b.tsv
gives '\xef\xbb\xbfx\tX\n\xef\xbb\xbfy\tZ\n' pivot --on 2,2 marked-a.tsv marked-b.tsv
expect_from marked-b.tsv 0 data pivot --on 2,2 marked-a.tsv -
LC_ALL=C sort stdout >got
same expected got
[ -z "$(ls parts)" ] || fail "parts were left behind: $(ls parts)"
expect 2 data pivot en-fr.tsv
expect 2 data pivot en-fr.tsv en-it.tsv --on 1
stderr_has "on is '1', expected two columns from 1 to 256, as 1,2"
expect 2 data pivot en-fr.tsv en-it.tsv --on 1,0
expect 1 data pivot en-fr.tsv en-it.tsv --on 3,1
stderr_has "en-fr.tsv:1: 2 columns, expected at least 3"
expect 2 data pivot - -
stderr_has "both files are standard input"
TMPDIR="" expect_from en-it.tsv 0 data pivot en-fr.tsv -
lines_are stdout 3
printf 'lonely\n' >one.tsv
expect 1 data pivot en-fr.tsv one.tsv -o out.tsv
stderr_has "one.tsv:1: 1 column"
absent out.tsv
gives '' pivot en-fr.tsv one.tsv --skip-bad

# Sample: so many, in their order, the same at every call, others by another seed; every row has the same chance.
seq 1 1000 >thousand
expect 0 data sample --rows 50 thousand -o fifty
lines_are fifty 50
stderr_has "1000 rows read, 50 written; 950 not drawn"
sort -n fifty | cmp -s - fifty || fail "the sample is not in order"
expect 0 data sample --rows 50 thousand
same fifty stdout
expect 0 data sample --rows 50 --seed 2 thousand
cmp -s fifty stdout && fail "another seed draws the same"
expect 0 data sample --rows 5000 thousand
same thousand stdout
expect 0 data sample --share 0.3 thousand
n=$(wc -l <stdout)
[ "$n" -gt 250 ] && [ "$n" -lt 350 ] || fail "$n rows of 1000 by a share of 0.3"
for seed in $(seq 1 200); do "$PROGRAM" data sample --rows 2 --seed "$seed" - 2>/dev/null < <(seq 1 10); done >draws
sort draws | uniq -c | awk '$1 < 20 || $1 > 65 { bad = 1 } END { exit NR != 10 || bad }' || fail "rows have different chances: $(sort -n draws | uniq -c | tr '\n' ' ')"
expect 2 data sample thousand
expect 2 data sample --rows 5 --share 0.1 thousand
stderr_has "expected either rows or share"

# Dedup: of rows, of sides; against test sets.
printf 'A cat.\tUn chat.\na  CAT!\tun chat\nA cat.\tLe chat.\nNo.\tUn chat.\n\xc3\x89t\xc3\xa9\tSummer\nE\xcc\x81TE\xcc\x81\tsummer\n...\t!!!\n...\t???\n' >d.tsv
gives 'A cat.\tUn chat.\nA cat.\tLe chat.\nNo.\tUn chat.\n\xc3\x89t\xc3\xa9\tSummer\n...\t!!!\n...\t???\n' dedup d.tsv
stderr_has "8 rows read, 6 written; 2 repeated"
expect 0 data dedup --match exact d.tsv
same d.tsv stdout
gives 'A cat.\tUn chat.\n\xc3\x89t\xc3\xa9\tSummer\n...\t!!!\n' dedup --by any d.tsv
gives 'A cat.\tUn chat.\nNo.\tUn chat.\n\xc3\x89t\xc3\xa9\tSummer\n...\t!!!\n' dedup --by first d.tsv
gives 'A cat.\tUn chat.\nA cat.\tLe chat.\n\xc3\x89t\xc3\xa9\tSummer\n...\t!!!\n...\t???\n' dedup --by second d.tsv
printf 'a\tb\tc\nx\ty\na\tb\td\nx\ty\n' >widths.tsv # rows of several widths
gives 'a\tb\tc\nx\ty\na\tb\td\n' dedup widths.tsv
printf 'LE CHAT\nsummer\tno\n' >test.tsv
gives 'A cat.\tUn chat.\n...\t!!!\n...\t???\n' dedup d.tsv --against test.tsv
stderr_has "1 repeated, 4 held out"
cat d.tsv d.tsv >twice.tsv
expect 0 data dedup d.tsv d.tsv -o a.tsv
expect 0 data dedup twice.tsv -o b.tsv
same a.tsv b.tsv
expect 1 data dedup d.tsv --against nowhere.tsv -o out.tsv
stderr_has "nowhere.tsv"
absent out.tsv

printf 'a1\tb1\t\na2\t\tc2\na3\tb3\t\na4\ta1\tb1\n' >gaps.tsv # what is missing repeats nothing, nor does another side
expect 0 data dedup --by any gaps.tsv
same gaps.tsv stdout
expect 0 data dedup --by second gaps.tsv
same gaps.tsv stdout
printf 'A cat\xff\n' >bad.tsv
expect 1 data dedup d.tsv --skip-bad --against bad.tsv
stderr_has "bad.tsv:1: not UTF-8"
expect 1 data dedup --against -
stderr_has "standard input is named 2 times"

# Filter.
printf 'A cat.\tUn chat.\nYes, it is.\tyes it is\n\tVuoto\nOne\tA sentence that is longer than what it translates by far.\nA\tB\nTea\tчай\n' >f.tsv
gives 'A cat.\tUn chat.\nA\tB\nTea\tчай\n' filter f.tsv
stderr_has "6 rows read, 3 written; 1 identical sides, 1 empty, 1 lengths too different"
gives 'A cat.\tUn chat.\nYes, it is.\tyes it is\nA\tB\nTea\tчай\n' filter --keep-identical f.tsv
gives 'A cat.\tUn chat.\nTea\tчай\n' filter --min-characters 2 f.tsv
gives 'A\tB\nTea\tчай\n' filter --max-characters 5 f.tsv
gives 'A cat.\tUn chat.\nA\tB\n' filter --languages en,fr f.tsv
stderr_has "1 another script"
gives 'Tea\tчай\n' filter --languages en,ru --min-characters 2 f.tsv
gives '' filter --languages ja,zh f.tsv
printf '図書館へ行く\t我去图书馆。\nコーヒー\t咖啡 2\n...\t123\nкофе\tkava\n' >j.tsv
gives '図書館へ行く\t我去图书馆。\nコーヒー\t咖啡 2\n...\t123\n' filter --languages ja,zh j.tsv
gives 'кофе\tkava\n' filter --languages sr,hr --min-characters 4 j.tsv
expect 1 data filter --languages en,xq f.tsv
stderr_has "language 'xq'"
printf 'One\t\tUno.\n\tUn\tUno\n' >gaps.tsv
gives 'One\t\tUno.\n' filter --languages en,fr,it gaps.tsv
stderr_has "1 empty"
expect 1 data filter --languages en, f.tsv
printf 'one\n' >one.tsv
expect 1 data filter one.tsv
stderr_has "one.tsv:1: 1 column, expected at least 2"
# Dropped rows with their reasons.
printf 'A cat.\tUn chat.\nA\tlonger than that, by far\n...\t\nSame\tsame!\n' >r.tsv
expect 0 data filter --rejected rejected.tsv r.tsv -o kept.tsv
printf 'lengths too different\tA\tlonger than that, by far\nempty\t...\t\nidentical sides\tSame\tsame!\n' >expected
same expected rejected.tsv
printf 'A cat.\tUn chat.\n' >expected
same expected kept.tsv
expect 0 data filter --rejected rejected.tsv.gz r.tsv -o kept.tsv
gzip -dc rejected.tsv.gz | head -n 1 >first
printf 'lengths too different\tA\tlonger than that, by far\n' >expected
same expected first
expect 1 data filter --rejected kept.tsv r.tsv -o kept.tsv
stderr_has "kept.tsv: kept and rejected rows need two files"
expect 1 data filter --rejected no/where.tsv r.tsv -o none.tsv
stderr_has "no/where.tsv"
absent none.tsv
printf 'A\tB\nC\n' >r.tsv
expect 1 data filter --rejected none.tsv r.tsv -o kept.tsv
absent none.tsv

# Text of user interfaces.
cleans() { # OPTIONS TEXT EXPECTED
  printf '%s\t1234\n' "$2" >c.tsv
  expect 0 data filter --max-ratio 0 --clean "$1" c.tsv
  printf '%s\t1234\n' "$3" >expected
  same expected stdout
}
cleans accelerators '_File' 'File'
cleans accelerators 'Save &As' 'Save As'
cleans accelerators 'Se&ttings' 'Settings'
cleans accelerators '~Öffnen' 'Öffnen'
cleans accelerators '파일 (&F)' '파일'
cleans accelerators 'ファイル(_F)を開く' 'ファイルを開く'
cleans accelerators 'R&D' 'R&D'
cleans accelerators 'Find && replace' 'Find & replace'
cleans accelerators 'the_long_name' 'the_long_name'
cleans accelerators 'a & b ~ c _ d' 'a & b ~ c _ d'
cleans markup '<b>Bold</b> &lt;all&gt; x<br/>y' 'Bold <all> x y'
cleans markup 'caf&#233; &#xe9;t&eacute; &nope; &#0; &#xD800; & co' 'café été &nope; &#0; &#xD800; & co'
cleans markup 'a < b > c <3 <unclosed' 'a < b > c <3 <unclosed'
cleans placeholders 'Open %s: %1$ld of {count} {{ all }} $1 ${dir} %(name)s, %-5.2f' 'Open : of ,'
cleans placeholders '100% sure, 5%% off, %n files, %L1, $100, $1.50, {not this one}, %(open' '100% sure, 5% off, files, , $100, $1.50, {not this one}, %(open'
cleans placeholders 'Delete "%s" (%d) “{x}” now' 'Delete now'
cleans ellipses 'Open...' 'Open'
cleans ellipses 'Open … ...' 'Open'
cleans ellipses 'Wait... more' 'Wait... more'
cleans markup,accelerators,placeholders,ellipses '<i>_Save</i> &quot;%s&quot; as…' 'Save as'
printf '%%s\t%%d\nA_ll %%s\tAlle %%s\n' >c.tsv
gives 'All\tAlle\n' filter --clean accelerators,placeholders --rejected rejected.tsv c.tsv
printf 'empty\t%%s\t%%d\n' >expected
same expected rejected.tsv
expect 2 data filter --clean markdown c.tsv
stderr_has "clean is 'markdown', expected one of markup, accelerators, placeholders, ellipses"
expect 2 data filter --clean markup, c.tsv
stderr_has "clean is '', expected one of markup"

expect 0 data filter --max-ratio 0 --max-characters 0 f.tsv
lines_are stdout 4

# Gloss: in any case; one of several translations, the same one for a seed; punctuation and what is not known stay.
printf 'cat\tKatze\nThe\tdie\n\tnichts\ndog\t\nsleeps\tschläft\nказка\tMärchen\n' >words.tsv
printf "The cat's dog, or a Cat; sleeps.\nNothing here.\nThe dog of a man\nСКАЗКА, казка!\n" >g.txt
gives "The cat's dog, or a Cat; sleeps.\tdie cat's dog, or a Katze; schläft.\nThe dog of a man\tdie dog of a man\nСКАЗКА, казка!\tСКАЗКА, Märchen!\n" \
  gloss --dictionary words.tsv g.txt
stderr_has "4 rows read, 3 written; 1 without a word of the dictionary"
gives 'СКАЗКА, казка!\tСКАЗКА, Märchen!\n' gloss -d words.tsv --min-known 0.5 g.txt
stderr_has "1 written; 2 with too few words of the dictionary, 1 without a word of the dictionary"
printf 'straße\tstreet\nλόγος\tword\ncaf\xc3\xa9\tcoffee\n' >folded.tsv
printf 'STRASSE ΛΌΓΟΣ CAFE\xcc\x81 x\n' >folded.txt
gives 'STRASSE ΛΌΓΟΣ CAFE\xcc\x81 x\tstreet word coffee x\n' gloss -d folded.tsv folded.txt
printf 'a a a a a a a b b b b b b b b b b b b b b b b b b\n' >share.txt # 7 of 25: what is a little more than 0.28
printf 'a\tx\n\xff\nalone\n' >a.tsv
expect 0 data gloss --skip-bad -d a.tsv --min-known 0.28 share.txt
stderr_has "3 rows read, 1 written; 2 malformed"
printf 'one\teins\none\tein\teiner\n' >number.tsv
printf 'x\tone\n%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 >ones.tsv
expect 0 data gloss -d number.tsv --column 2 ones.tsv
for word in eins ein einer; do grep -qx "one	$word" stdout || fail "'one' has never become '$word'"; done
mv stdout drawn
expect 0 data gloss -d number.tsv --column 2 ones.tsv
same drawn stdout
expect 0 data gloss -d number.tsv --column 2 --seed 2 ones.tsv
! cmp -s drawn stdout || fail "another seed draws the same"

# Phrases before words; the translations that text has, mostly; "to" of English verbs is left out.
printf 'post office\tPost\npost\tPfosten\npost\tPost\nto go\tgehen\na b c d e f g h i\tlang\n' >phrases.tsv
printf 'The post office; go.\n' >phrase.txt
gives 'The post office; go.\tThe Post; gehen.\n' gloss -d phrases.tsv phrase.txt
printf 'en,note\n"The post office; go.",x\n' >phrase.csv
gives 'The post office; go.\tThe Post; gehen.\n' gloss -d phrases.tsv phrase.csv
printf 'Ein Tisch\nein Stuhl\neiner\nEIN\n' >text.de
yes "$(printf 'x\tone')" | head -n 200 >ones.tsv
expect 0 data gloss -d number.tsv --column 2 --text text.de ones.tsv
awk '{ n[$2]++ } END { exit !(n["ein"] > 2 * n["einer"] && n["einer"] > 20 && n["eins"] < 5) }' stdout ||
  fail "translations are not drawn by how often text has them: $(cut -f 2 stdout | sort | uniq -c | tr -s ' \n' ' ')"
expect 1 data gloss -d number.tsv --column 2 --text nowhere.txt ones.tsv
stderr_has "nowhere.txt: cannot open"

printf 'x\tone\n' >ones.tsv
expect 1 data gloss -d number.tsv --column 3 ones.tsv
stderr_has "ones.tsv:1: 2 columns, expected at least 3"
expect 1 data gloss -d g.txt g.txt
stderr_has "g.txt:1: 1 column, expected at least 2"
printf 'word\t\n' >none.tsv
expect 1 data gloss -d none.tsv g.txt
stderr_has "none.tsv: no word with a translation"
expect 2 data gloss g.txt
stderr_has "dictionary"

# Inflect: forms of a dictionary's words, in lower case where the text has them so; rules that few words follow are not
# used. Of rows, the last column is the text.
printf 'lamp\tLampe\nflower\tBlume\nstreet\tStraße\nroad\tStraße\tWeg\nto go out\taus gehen\n\tBlume\n' >lemmas.tsv
printf 'Lampen, Blumen\nx\tStraßen! blumen Zug Lampe 123\n' >forms.txt
gives 'lamp\tLampen\nflower\tblumen\nstreet\tStraßen\nroad\tStraßen\n' inflect --text forms.txt --min-support 3 lemmas.tsv
stderr_has "4 words without a translation, 4 rows written; 1 of no lemma"
gives '' inflect --text forms.txt --min-support 4 lemmas.tsv
stderr_has "4 words without a translation, 0 rows written; 4 of no lemma"
printf 'Lampen\tBlumen\n' >two.tsv
gives 'flower\tBlumen\n' inflect --text two.tsv --min-support 1 lemmas.tsv
# A beginning, too; nothing is a form of two letters, of ideographs, or of a word that shares less than half.
printf 'book\tكتاب\npen\tقلم\nhouse\tبيت\nox\tox\nUniversity of Tokyo\t東京大学\nsun\tSonnenaufgang\n' >lemmas.tsv
printf 'والكتاب والقلم والبيت oxen 東京大 Sonne\n' >forms.txt
gives 'book\tوالكتاب\npen\tوالقلم\nhouse\tوالبيت\n' inflect --text forms.txt --min-support 1 lemmas.tsv
stderr_has "5 words without a translation, 3 rows written; 2 of no lemma"
printf 'book\tالكتاب\npen\tالقلم\n' >lemmas.tsv
printf 'كتاب قلم ولقلم\n' >forms.txt
gives 'book\tكتاب\npen\tقلم\n' inflect --text forms.txt --min-support 2 lemmas.tsv
# Of two lemmas, that which the text has; of two that it has as often, that of the more frequent rule.
printf 'bread\tBrot\nbrood\tBrut\nroll\tBrote\n' >lemmas.tsv
printf 'Brotes\nBrot Brot Brot\n' >forms.txt
gives 'bread\tBrotes\n' inflect --text forms.txt --min-support 1 lemmas.tsv
printf 'a\txyza\nb\txyzab\nc\tklma\n' >lemmas.tsv
printf 'xyzabc klmbc\n' >forms.txt
gives 'b\txyzabc\nc\tklmbc\n' inflect --text forms.txt --min-support 1 lemmas.tsv
printf 'xyzabc klmbc klmabc\n' >forms.txt
gives 'a\txyzabc\nc\tklmbc\nc\tklmabc\n' inflect --text forms.txt --min-support 1 lemmas.tsv
expect 1 data inflect --text nowhere.txt lemmas.tsv
stderr_has "nowhere.txt: cannot open"
expect 1 data inflect --text forms.txt forms.txt
stderr_has "forms.txt:1: 1 column, expected at least 2"
expect 2 data inflect lemmas.tsv
stderr_has "text"
expect 2 data inflect --text forms.txt --min-support 0 lemmas.tsv

# Transliterate: names of the text that the dictionary lacks, by the letters that its names have. Words that text has in
# small letters, too, and abbreviations, are no names.
awk 'BEGIN {
  n = split("b d g k l m n p r s t v z", latin, " "); split("б д г к л м н п р с т в з", cyrillic, " ")
  split("a o u", vowel, " "); split("а о у", vowels, " ")
  for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) for (k = j + 1; k <= n; k++) {
    a = 1 + (i + j) % 3; b = 1 + (j + k) % 3
    print toupper(latin[i]) vowel[a] latin[j] vowel[b] latin[k] "\t" cyrillic[i] vowels[a] cyrillic[j] vowels[b] cyrillic[k]
  }
}' >names.tsv
awk 'NR % 2' names.tsv >known.tsv
awk '!(NR % 2)' names.tsv >unknown.tsv
printf 'house\tдом\nRose\tроза\nword\tслово\nUSA\tСША\n' >>known.tsv
awk -F '\t' '{ print "We met " $1 " and Rose.\tСнег" }' unknown.tsv >names.txt
printf 'Garden, garden, NATO; Ed.\n' >>names.txt
expect 0 data transliterate --text names.txt known.tsv
same unknown.tsv stdout
stderr_has "143 names, 143 rows written"
# Too few names say how letters are written; none do where both languages have the same letters; some letter is new.
gives '' transliterate --text names.txt --min-pairs 150 known.tsv
stderr_has "143 names, 0 rows written; 143 of which too few names of the dictionary say how they are written"
awk -F '\t' '{ print $1 "\t" $1 "a" }' known.tsv >latin.tsv
gives '' transliterate --text names.txt --min-pairs 1 latin.tsv
stderr_has "143 names, 0 rows written"
printf 'Xanten and Bodak\n' >new.txt
gives 'Bodak\tбодак\n' transliterate --text new.txt known.tsv
stderr_has "2 names, 1 rows written; 1 with letters that no name of the dictionary has"
expect 1 data transliterate --text nowhere.txt known.tsv
stderr_has "nowhere.txt: cannot open"
expect 2 data transliterate known.tsv
stderr_has "text"

# Stats.
printf 'A cat sat.\tЧай\n\tпусто\nA cat sat.\tTom\nYes!\tyes\nTom\tтри слова тут\n...\t12\n' >s.tsv
expect 0 data stats s.tsv --csv
cat >expected <<'END'
column,rows,empty,distinct,characters,median,95%,max,words,script
1,6,1,4,6.0,4,10,10,1.8,Latin 80.0% none 20.0%
2,6,0,6,4.8,3,13,13,1.3,Cyrillic 50.0% Latin 33.3% none 16.7%
END
same expected stdout
stderr_has "6 rows, 6 distinct, 1 with identical sides, 0 dropped"
expect 0 data stats s.tsv s.tsv --json
stdout_has '{"rows": 12, "distinct": 6, "identical": 2, "dropped": 0, "columns": ['
stdout_has '"Cyrillic": 0.5'
expect 0 data convert s.tsv -l en,ru -o s.csv
expect 0 data convert s.tsv -l en,ru -o s.tmx
for file in s.csv s.tmx; do
  expect 0 data stats --csv $file
  stdout_has '2,5,0,5,4.8,3,13,13,1.4,Cyrillic 40.0% Latin 40.0% none 20.0%'
done
expect 2 data stats --csv --json s.tsv
expect 0 data stats s.tsv --table markdown
stdout_has "| column | rows | empty | distinct | characters | median | 95% | max | words | script |"
for n in 3 5000 6000 7000 9000; do printf "%${n}s\n" . | tr ' ' a; done >long.txt
expect 0 data stats long.txt --csv
stdout_has '1,5,0,5,5400.6,6000,9000,9000,1.0,'
printf '\xff\nA\tB\tC\n' >bad.tsv
expect 1 data stats bad.tsv
stderr_has "bad.tsv:1: not UTF-8"
expect 0 data stats --skip-bad bad.tsv
stderr_has "1 dropped"
lines_are stdout 4
: >empty
expect 0 data stats empty
lines_are stdout 1

# What cannot be written.
if [ -e /dev/full ]; then
  expect 1 data filter f.tsv -o /dev/full
  stderr_has "/dev/full"
fi
expect 0 data filter f.tsv -o /dev/null
[ -c /dev/null ] || fail "/dev/null was replaced"
cp f.tsv real.tsv
ln -s real.tsv link.tsv
expect 0 data filter link.tsv -o link.tsv
[ -L link.tsv ] || fail "the link was replaced"
expect 0 data filter f.tsv
cp stdout kept
same real.tsv kept
expect 1 data filter one.tsv -o link.tsv
same real.tsv kept
expect 0 data filter f.tsv -o f.tsv
same f.tsv real.tsv
expect 1 data filter f.tsv -o nowhere/out.tsv
stderr_has "nowhere/out.tsv"
expect 1 data dedup nowhere.tsv
expect 2 data

# Near duplicates: a row that differs in a word or a mark, but not one that differs in most of its letters.
long='The committee agreed on Tuesday that the bridge over the river would be closed for repairs until the end of March'
{
  printf '%s.\tDer Ausschuss beschloss am Dienstag, die Brücke bis Ende März zu schließen.\n' "$long"
  printf '%s!\tDer Ausschuss beschloss am Dienstag, die Brücke bis Ende März zu schließen!\n' "$long"
  printf '%s.\tDer Ausschuss beschloss am Montag, die Brücke bis Ende März zu schließen.\n' "${long/Tuesday/Monday}"
  printf 'The choir sings on Fridays.\tDer Chor singt freitags.\n'
  printf 'ok\tgut\nno\tnein\n'
} >near.tsv
expect 0 data dedup near.tsv --near 0.7 --rejected dropped.tsv -o kept.tsv
stderr_has "6 rows read, 4 written; 1 repeated, 1 nearly repeated"
cut -f 1 dropped.tsv >reasons
printf 'repeated\nnearly repeated\n' >expected
same reasons expected
expect 0 data dedup near.tsv -o kept.tsv
stderr_has "6 rows read, 5 written; 1 repeated"
expect 2 data dedup near.tsv --near 1
stderr_has "near"

# What is no sentence: a long word, signs instead of letters, the same words again and again.
{
  printf 'A word.\tEin Wort.\n'
  printf 'See abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz here.\tSiehe hier.\n'
  printf '== 12 / 34 == 56 ==\t== 12 / 34 == 56 ==!\n'
  printf 'buy it now buy it now buy it now buy it now\tkauf es jetzt\n'
  printf 'กกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกกก\tA long word in a script without blanks, which is none.\n'
} >odd.tsv
expect 0 data filter odd.tsv --max-word 40 --min-letters 0.5 --max-repetition 0.3 --max-ratio 0 --rejected dropped.tsv -o kept.tsv
stderr_has "5 rows read, 2 written; 1 a long word, 1 few letters, 1 repetitions"
cut -f 1 dropped.tsv >reasons
printf 'a long word\nfew letters\nrepetitions\n' >expected
same reasons expected
expect 0 data filter odd.tsv --max-ratio 0 -o kept.tsv
stderr_has "5 rows read, 4 written; 1 identical sides"

finish
