# What is written by the ending of a file's name: CSV, TMX, XLIFF, .po; read back to the same rows; TMX with all that its
# units say; CSV with any separator; drops by numbers, consistency, cosine.
. "$(dirname "$0")/common.sh"

holds() { # FILE EXPECTED: its text
  printf "$2" >expected
  same expected "$1"
}
reads() { # EXPECTED ARGUMENTS...: what data convert reads
  local expected=$1
  shift
  expect 0 data convert "$@"
  holds stdout "$expected"
}
refused() { # TEXT ARGUMENTS...: data ARGUMENTS fails, saying so, and leaves nothing behind
  local text=$1
  shift
  expect 1 data "$@"
  stderr_has "$text"
  absent refused.*
}

# Each format: quotation marks, markup, characters that XML cannot carry, a repeated source; the same rows come back.
printf 'He said "no, 5 < 6 & 7".\tEr sagte \\ "nein".\nOpen;\tÖffnen\x01!\nOpen;\tAuf\xef\xbf\xbe\nOpen;\tAuf \xef\xbf\xbd\n' >odd.tsv
for ending in tsv csv tmx xlf xliff po csv.gz tmx.zst XLF.gz po.gz; do
  expect 0 data convert odd.tsv --languages en,de -o "odd.$ending"
  stderr_has "4 rows read, 4 written"
  cp odd.tsv expected
  case $ending in tmx* | xl* | XL*) printf 'He said "no, 5 < 6 & 7".\tEr sagte \\ "nein".\nOpen;\tÖffnen !\nOpen;\tAuf\nOpen;\tAuf \xef\xbf\xbd\n' >expected ;; esac
  expect 0 data convert "odd.$ending"
  same expected stdout
  [ "$ending" = tsv ] && continue
  expect 0 data convert --columns de,en "odd.$ending"
  awk -F '\t' '{ print $2 "\t" $1 }' expected | cmp -s - stdout || fail "$ending: the columns are not those of the languages"
done
holds odd.csv 'en,de\n"He said ""no, 5 < 6 & 7"".","Er sagte \\ ""nein""."\nOpen;,Öffnen\x01!\nOpen;,Auf\xef\xbf\xbe\nOpen;,Auf \xef\xbf\xbd\n'
sed -n '/msgid "He/,$p' odd.po >messages
holds messages 'msgid "He said \\"no, 5 < 6 & 7\\"."\nmsgstr "Er sagte \\\\ \\"nein\\"."\n\nmsgid "Open;"\nmsgstr "Öffnen\\001!"\n\nmsgctxt "2"\nmsgid "Open;"\nmsgstr "Auf\xef\xbf\xbe"\n\nmsgctxt "3"\nmsgid "Open;"\nmsgstr "Auf \xef\xbf\xbd"\n\n'
if command -v msgfmt >/dev/null; then
  msgfmt --check odd.po -o odd.mo 2>messages || fail "msgfmt refuses the catalog"
  [ ! -s messages ] || fail "msgfmt warns: $(cat messages)"
  expect 0 data convert odd.mo
  LC_ALL=C sort stdout >got
  LC_ALL=C sort odd.tsv >expected
  same expected got
fi
if command -v xmllint >/dev/null; then
  for name in odd.tmx odd.xlf; do xmllint --noout "$name" || fail "$name is not XML"; done
fi
# From each to each, with the languages of the input.
for from in csv tmx xlf; do
  for to in $([ $from = csv ] || echo tmx xlf) csv po; do
    expect 0 data convert "odd.$from" -o "x.$to"
    expect 0 data convert --columns de,en "x.$to" -o "x.tsv"
    expect 0 data convert --columns de,en "odd.$from"
    same stdout x.tsv
  done
done
# All that writes rows: from tab-separated text, too.
expect 0 data dedup odd.tsv --by first -l en,de -o x.tmx
stderr_has "4 rows read, 2 written; 2 repeated"
reads 'He said "no, 5 < 6 & 7".\tEr sagte \\ "nein".\nOpen;\tÖffnen !\n' x.tmx
expect 0 data dedup x.tmx --against odd.po -o y.csv
stderr_has "2 rows read, 0 written; 2 held out"
holds y.csv 'en,de\n'
expect 0 data sample --rows 2 odd.xlf -o x.xlf
expect 0 data convert x.xlf -o two.tsv
lines_are two.tsv 2
expect 0 data sample --rows 2 odd.tsv
sed 's/\x01/ /; s/\xef\xbf\xbe//' stdout >expected
same expected two.tsv
expect 0 data pivot odd.tsv odd.tsv -l de,fr -o x.po
stderr_has "10 written"
# Pivot reads what data convert reads, and names the columns that are left.
printf 'A cat.\tUn chat.\nA dog.\tUn chien.\nA fish.\tUn poisson.\n' >en-fr.tsv
printf 'Un cane.\tA dog.\nUn gatto.\tA cat.\n' >it-en.tsv
printf 'Un chat.\tUn gatto.\nUn chien.\tUn cane.\n' >expected.pivot
for ending in csv tmx xlf po tsv csv.gz; do
  expect 0 data convert en-fr.tsv -l en,fr -o "pivot-a.$ending"
  expect 0 data convert it-en.tsv -l it,en -o "pivot-b.$ending"
done
for ending in csv tmx xlf po tsv csv.gz; do
  for other in tsv tmx; do
    expect 0 data pivot --on 1,2 "pivot-a.$ending" "pivot-b.$other"
    cmp -s expected.pivot stdout || fail "pivot of $ending and $other: $(cat stdout)"
    stderr_has "5 rows read, 2 written; 1 of the first, without a partner"
    expect 0 data pivot --on 1,2 --memory 0.000001 "pivot-a.$other" "pivot-b.$ending"
    sort stdout | cmp -s expected.pivot - || fail "pivot of $other and $ending on disk: $(cat stdout)"
  done
done
expect 0 data pivot --on 1,2 pivot-a.tmx pivot-b.csv -o x.tmx
reads 'Un gatto.\tUn chat.\nUn cane.\tUn chien.\n' --columns it,fr x.tmx
expect 0 data pivot --on 1,2 pivot-a.xlf pivot-b.tmx --languages fr-CA,it -o x.csv
holds x.csv 'fr-CA,it\nUn chat.,Un gatto.\nUn chien.,Un cane.\n'
refused "pivot-b.csv: column 1 is of language 'it', column 1 of pivot-a.tmx of 'en': --on A,B joins others" pivot pivot-a.tmx pivot-b.csv -o refused.tsv
refused "pivot-a.tmx: 2 columns, expected at least 3" pivot --on 3,1 pivot-a.tmx pivot-b.csv -o refused.tsv
expect 0 data convert /dev/null --from tsv -l en,de -o none.tmx
refused "none.tmx: no <tu> in it" pivot pivot-a.tmx none.tmx -o refused.tsv
printf 'en,fr\n"A\tcat.\n ",Un chat.\n' >odd.csv # as a line, it is "A cat."
expect 0 data pivot --on 1,2 odd.csv it-en.tsv
holds stdout 'Un chat.\tUn gatto.\n'
printf 'x\ty\tz\n' >three.tsv
expect 0 data filter three.tsv -l en,fr,it -o x.csv
holds x.csv 'en,fr,it\nx,y,z\n'
expect 0 data filter three.tsv -o x.csv
holds x.csv 'source,target,3\nx,y,z\n'
expect 0 data filter three.tsv -l en,fr,it -o x.tmx
reads 'z\tx\n' --columns it,en x.tmx
refused "refused.po: a row of 3 columns, at most 2 can be written" filter three.tsv -o refused.po
refused "refused.tmx: a row of 3 columns, at most 2 can be written" dedup three.tsv -l en,fr -o refused.tmx
# Bad names, languages that are not known, empty inputs.
for name in refused.json refused.JSONL.gz refused.parquet refused.mo refused.sdlxliff refused.xml; do
  ending=$(tr A-Z a-z <<<"${name#refused}")
  refused "$name: rows are not written as ${ending%.gz}; endings that are: .tsv, .csv, .tmx, .xlf, .xliff, .po, each also with .gz or .zst" filter odd.tsv -o $name
  refused "$name: rows are not written as ${ending%.gz}" filter odd.tsv --rejected $name -o x.tsv
done
: >empty.tsv
for name in refused.tmx refused.xlf; do
  refused "$name: which languages are the columns? --languages en,de" convert odd.tsv -o $name
  refused "$name: which languages are the columns? --languages en,de" filter empty.tsv -o $name
  refused "$name: which languages are the columns? --languages en,de" convert odd.po -o $name
done
for ending in tmx xlf po csv tsv; do
  expect 0 data convert empty.tsv -l en,de -o none.$ending
  stderr_has "0 rows read, 0 written"
done
refused "none.tmx: no <tu> in it" convert none.tmx
reads '' none.po
stderr_has "0 rows read"
reads '' none.csv
: >empty.csv
refused "empty.csv: no line of column names" convert empty.csv
printf '\tleer\nfull\tvoll\n' >gap.tsv
expect 0 data dedup gap.tsv -l en,de -o x.tmx
stderr_has "2 rows read, 1 written; 1 empty"

# UTF-16 is read as lines, in both byte orders, with a mark and without.
printf 'A cat \xf0\x9f\x90\x88 sleeps on the mat.\tEine Katze \xf0\x9f\x90\x88 schläft auf der Matte.\nNo.\tНет.\n' >narrow.tsv
sed '1i en\tde' narrow.tsv | tr '\t' ';' >narrow.csv
for encoding in UTF-16 UTF-16LE UTF-16BE UTF-32; do
  iconv -f UTF-8 -t $encoding narrow.tsv >wide.tsv
  iconv -f UTF-8 -t $encoding narrow.csv >wide.csv
  reads "$(cat narrow.tsv)\n" wide.tsv
  reads "$(cat narrow.tsv)\n" wide.csv
  gzip -c wide.tsv >wide.gz
  expect_from wide.gz 0 data filter -
  same narrow.tsv stdout
done
iconv -f UTF-8 -t UTF-16 narrow.tsv | head -c -3 >cut.tsv
refused "cut.tsv:2: not UTF-16LE (half a character, or none)" convert cut.tsv -o refused.tsv
expect 0 data convert cut.tsv --skip-bad
head -1 narrow.tsv | cmp -s - stdout || fail "the line before the cut one is not there"
stderr_has "2 rows read, 1 written; 1 malformed"

# A unit of TMX keeps what it says besides its text, unless the text changes; other languages are left out.
cat >memory.tmx <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header creationtool="x" creationtoolversion="1" segtype="sentence" o-tmf="x" adminlang="en" srclang="en-US" datatype="xml"><prop type="x">header</prop></header><body>
<tu tuid="1" creationdate="20200101T000000Z" changedate='20210101T000000Z' creationid="A &amp; &quot;B&quot; &lt;&amp;#38;"><note>Ask &lt;them&gt;</note>
  <prop type="domain">weather</prop>
  <tuv xml:lang="en-US" changeid="C"><prop type="q">1</prop><seg>It <bpt i="1">&lt;b&gt;</bpt>rains<ept i="1">&lt;/b&gt;</ept> &amp; snows.</seg></tuv>
  <tuv xml:lang="fr"><seg>Il pleut.</seg></tuv>
  <tuv xml:lang="de"><seg>Es regnet und
schneit.</seg></tuv></tu>
<tu tuid="2" lastusagedate="20220202T000000Z"><tuv xml:lang="en-US"><seg>Same</seg></tuv><tuv xml:lang="de"><seg>Same</seg></tuv></tu>
<tu tuid="3"><tuv xml:lang="en-US"><seg>Page &lt;i&gt;3&lt;/i&gt;</seg></tuv><tuv xml:lang="de" creationdate="20230101T000000Z"><seg>Seite 3</seg></tuv></tu>
</body></tmx>
XML
first='<tu tuid="1" creationdate="20200101T000000Z" changedate="20210101T000000Z" creationid="A &amp; &quot;B&quot; &lt;&amp;#38;"><note>Ask &lt;them&gt;</note><prop type="domain">weather</prop><tuv xml:lang="en-US" changeid="C"><prop type="q">1</prop><seg>It <bpt i="1">&lt;b&gt;</bpt>rains<ept i="1">&lt;/b&gt;</ept> &amp; snows.</seg></tuv><tuv xml:lang="de"><seg>Es regnet und\nschneit.</seg></tuv></tu>\n'
second='<tu tuid="2" lastusagedate="20220202T000000Z">%s<tuv xml:lang="en-US"><seg>Same</seg></tuv><tuv xml:lang="de"><seg>Same</seg></tuv></tu>\n'
third='<tu tuid="3"><tuv xml:lang="en-US"><seg>%s</seg></tuv><tuv xml:lang="de" creationdate="20230101T000000Z"><seg>Seite 3</seg></tuv></tu>\n'
units() { sed -n '/^<tu /,/^<\/body>/p' "$1" | sed '$d' >got; }
expect 0 data convert --columns en,de memory.tmx -o out.tmx
units out.tmx
holds got "$first$(printf "$second" '')\n$(printf "$third" 'Page &lt;i&gt;3&lt;/i&gt;')\n"
expect 0 data filter --languages en,de --clean markup --rejected dropped.tmx memory.tmx -o out.tmx
stderr_has "3 rows read, 2 written; 1 identical sides"
units out.tmx
holds got "$first$(printf "$third" 'Page 3')\n"
units dropped.tmx
holds got "$(printf "$second" '<prop type="reason">identical sides</prop>')\n"
expect 0 data sample --rows 3 -l en,de memory.tmx -o out.tmx
units out.tmx
holds got "$first$(printf "$second" '')\n$(printf "$third" 'Page &lt;i&gt;3&lt;/i&gt;')\n"
expect 0 data convert --columns de,en memory.tmx -o out.tmx
head -n 2 out.tmx | grep -q 'srclang="de"' || fail "the first column is not the source"
reads 'Es regnet und schneit.\tIt rains & snows.\nSame\tSame\nSeite 3\tPage <i>3</i>\n' out.tmx
refused "memory.tmx:8: which languages? There are en-US, fr, de: --columns en-US,fr" convert memory.tmx -o refused.tmx
refused "memory.tmx: no text is of language 'it'; there are en-US, fr, de" convert --columns en,it memory.tmx -o refused.tmx
sed 's/Il pleut/Il \& pleut/' memory.tmx >bad.tmx
expect 0 data convert --skip-bad --columns en,de bad.tmx -o out.tmx
units out.tmx
holds got "$(printf "$second" '')\n$(printf "$third" 'Page &lt;i&gt;3&lt;/i&gt;')\n"

# CSV: separators, quoted fields with line breaks, names; what is not there is listed.
printf 'id;German; English \n1;"Es regnet; ""oft""\r\nund viel.";It rains.\n\n2;Ja;Yes\n' >semicolon.csv
reads 'It rains.\tEs regnet; "oft" und viel.\nYes\tJa\n' --columns English,German semicolon.csv
reads '1\tEs regnet; "oft" und viel.\n2\tJa\n' semicolon.csv
reads 'Es regnet; "oft" und viel.\tIt rains.\nJa\tYes\n' --columns 2,3 semicolon.csv
printf '\xef\xbb\xbfen|de\n"a|b"|c\nd|"e"\n' >bar.csv
reads 'a|b\tc\nd\te\n' bar.csv
printf 'sep=:\nen:de\nx,y:z\n' >sep.csv
reads 'x,y\tz\n' sep.csv
printf 'en\tde\na, b\tc\n' >tab.csv
reads 'c\ta, b\n' --columns de,en tab.csv
reads 'c\ta, b\n' --from csv --columns de,en tab.csv
expect 0 data filter -l de,en tab.csv -o x.tsv
holds x.tsv 'c\ta, b\n'
refused "semicolon.csv:1: no column is named 'it'; there are id, German,  English " convert --columns English,it semicolon.csv
printf 'one\nx\n' >one.csv
refused "one.csv:1: no column is named '2'; there is only one" convert one.csv
printf 'en,de\na,b\nc\n"open,d\ne,"f" g\nh,i\n' >bad.csv
refused "bad.csv:3: 1 column, expected at least 2" convert bad.csv
reads 'a\tb\nh\ti\n' --skip-bad bad.csv
stderr_has "5 rows read, 2 written; 3 malformed"
printf 'en,de\na,b\n"c,d\ne,f\n' >bad.csv
refused "bad.csv:3: a quotation mark that is not closed" convert bad.csv
reads 'a\tb\ne\tf\n' --skip-bad bad.csv
printf 'en,de\na,b\n\xff,c\nd,e\n' >bad.csv
refused "bad.csv:3: not UTF-8" convert bad.csv
reads 'a\tb\nd\te\n' --skip-bad bad.csv

# XLIFF 2 and several files: a damaged unit costs only itself.
cat >two.xlf <<'XML'
<?xml version="1.0"?>
<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de"><x:file id="f">
<x:unit id="1"><x:segment><x:source>One</x:source><x:target>Eins</x:target></x:segment></x:unit>
<x:unit id="2"><x:segment><x:source>Two</x:source><x:target>Zwei & drei</x:target></x:segment>
<x:segment><x:source>Three</x:source><x:target>Drei</x:target></x:segment></x:unit>
<x:unit id="3"><x:segment><x:source>Four</x:source><x:target>Vier</x:target></x:segment></x:unit></x:file></x:xliff>
XML
refused "two.xlf:4: " convert two.xlf
reads 'One\tEins\nThree\tDrei\nFour\tVier\n' --skip-bad --columns en,de two.xlf
stderr_has "4 rows read, 3 written; 1 malformed"
cat >files.xlf <<'XML'
<xliff version="1.2"><file source-language="fr" target-language="de"><body><trans-unit id="1"><source>Un</source></trans-unit></body></file>
<file source-language="en" target-language="de"><body><trans-unit id="1"><source>One & two</source><target>Eins</target></trans-unit>
<trans-unit id="2"><source>Three</source><target>Drei</target></trans-unit></body></file></xliff>
XML
sed 's/ & / /; s/"fr"/"en"/' files.xlf >sound.xlf
reads 'One two\tEins\nThree\tDrei\n' --columns en,de sound.xlf
sed 's/"fr"/"en"/' files.xlf >bad.xlf
reads 'Drei\tThree\n' --skip-bad --columns de,en bad.xlf
refused "sound.xlf: the languages are en and de, not en and it" convert --columns en,it sound.xlf

for n in 1 2 3; do
  [ $n = 2 ] && echo '<trans-unit id="2"><source>S2</source><target>T2' || echo "<trans-unit id=\"$n\"><source>S$n</source><target>T$n</target></trans-unit>"
done >middle
{ echo '<xliff version="1.2"><file source-language="en" target-language="de"><body>'; cat middle; echo '</body></file></xliff>'; } >bad.xlf
refused "bad.xlf:4: a unit in a unit" convert bad.xlf
reads 'S1\tT1\nS3\tT3\n' --skip-bad bad.xlf
stderr_has "3 rows read, 2 written; 1 malformed"
head -n 3 bad.xlf >cut.xlf
reads 'S1\tT1\n' --skip-bad cut.xlf
stderr_has "2 rows read, 1 written; 1 malformed"
printf '<TS sourcelanguage="en" language="de"><context>\n<message><source>a</source><translation>b & c</translation></message>\n<message><source>d</source><translation>e</translation></message></context></TS>' >bad.ts
refused "bad.ts:2: " convert bad.ts
reads 'd\te\n' --skip-bad bad.ts
expect 0 data convert --skip-bad bad.ts -o x.tmx
reads 'e\td\n' --columns de,en x.tmx

# A language's exact name goes before a region's, in any order; a TMX cannot have two columns of one language.
printf 'ab\tcd\n' >one.tsv
expect 0 data convert one.tsv -l pt-BR,pt -o pt.tmx
reads 'cd\tab\n' --columns pt,pt-BR pt.tmx
reads 'ab\tcd\n' --columns pt-BR,pt pt.tmx
refused "en.tmx: two columns of the language 'EN'" convert one.tsv -l en,EN -o en.tmx

# Files one after the other have their languages in one order, and those of the first.
printf 'de,en\nAch ja,Oh yes\n' >swapped.csv
printf 'en-GB,de-AT\nOh no,O nein\n' >regions.csv
printf 'Not yet\tNoch nicht\n' >unnamed.tsv
printf 'en,de\nNever,Niemals\n' >first.csv
refused "swapped.csv: column 1 is of language 'de', in files before it of 'en': --languages en,de" \
  filter first.csv swapped.csv -o all.csv
expect 0 data filter first.csv regions.csv unnamed.tsv -o all.tmx
reads 'Never\tNiemals\nOh no\tO nein\nNot yet\tNoch nicht\n' --columns en,de all.tmx
expect 0 data filter --languages en,de first.csv swapped.csv -o all.csv
holds all.csv 'en,de\nNever,Niemals\nOh yes,Ach ja\n'

# A catalog's only message of no text is its header, and a language is written as text.
printf '\tleer\nab\tcd\n' >empty.tsv
expect 0 data filter empty.tsv -l en,de --rejected rejected.po -o kept.tsv
tail -n 5 rejected.po >tail.po
holds tail.po '#. reason: empty\nmsgctxt "1"\nmsgid ""\nmsgstr "leer"\n\n'
expect 0 data convert one.tsv -l 'en,d"e' -o quoted.po
reads 'ab\tcd\n' quoted.po

# CSV of more columns than are read.
seq -s , 300 >wide.csv
refused "wide.csv:1: no column is named '300' among the first 256" convert --columns 1,300 wide.csv

# Drops: numbers, links, another translation of a source, a low cosine; each with its reason.
printf 'I have 3 cats.\tIch habe 3 Katzen.\nIn 1,000.5 years\tIn 1.000,5 Jahren\nPage ٣\tSeite 3\nOver 5\tÜber 6\nSee https://a.example\tSiehe dort\nOpen\tÖffnen\nOpen\tAufmachen\nOpen \tÖffnen\nopen\tauf\n' >d.tsv
expect 0 data filter d.tsv --drop numbers,links,inconsistent --rejected dropped.tsv -o kept.tsv
holds kept.tsv 'I have 3 cats.\tIch habe 3 Katzen.\nIn 1,000.5 years\tIn 1.000,5 Jahren\nPage ٣\tSeite 3\nOpen\tÖffnen\nOpen \tÖffnen\nopen\tauf\n'
holds dropped.tsv 'different numbers\tOver 5\tÜber 6\nlinks\tSee https://a.example\tSiehe dort\nanother translation of the source\tOpen\tAufmachen\n'
stderr_has "9 rows read, 6 written; 1 different numbers, 1 links, 1 another translation of the source"
expect 2 data filter d.tsv --drop words
stderr_has "expected one of numbers, links, inconsistent"
expect 2 data filter d.tsv --min-cosine 0.5
stderr_has "min-cosine needs a model"
# As calque similarity has them, in batches and in order, with any number of threads.
awk 'BEGIN { for (i = 0; i < 1200; i++) print "the " i " cat" (i % 2 ? "\tthe " i " cat sat" : "\tdogs"); }' >many.tsv
expect 0 similarity --model "$TEACHER" --tsv many.tsv
sort -g stdout | awk -F '\t' 'NR == 600 { print $1 }' >limit
awk -F '\t' -v limit="$(cat limit)" '$1 >= limit { print $2 "\t" $3 }' stdout >wanted
awk -F '\t' -v limit="$(cat limit)" '$1 < limit { print "lower cosine\t" $2 "\t" $3 }' stdout >unwanted
for n in 1 3; do
  expect 0 data filter --model "$TEACHER" --threads $n --min-cosine "$(cat limit)" many.tsv --rejected dropped.tsv -o kept.tsv
  same wanted kept.tsv
  same unwanted dropped.tsv
done
stderr_has "1200 rows read, "
[ -s wanted ] && [ -s unwanted ] || fail "the limit does not divide the rows"
expect 0 data filter --model "$TEACHER" --min-cosine 0.999 --drop numbers d.tsv --rejected dropped.csv -o /dev/null
grep -q '^lower cosine,Open,Aufmachen$' dropped.csv || fail "no row has a low cosine"
expect 1 data filter --model nowhere --min-cosine 0.5 d.tsv
stderr_has "nowhere"

finish
