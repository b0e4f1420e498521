# calque data convert: each format to tab-separated columns, what is left out and why, and what is refused.
. "$(dirname "$0")/common.sh"

converts() { # EXPECTED ARGUMENTS...: standard output is this
  local expected=$1
  shift
  expect 0 data convert "$@"
  printf "$expected" >expected
  same expected stdout
}
refused() { # TEXT ARGUMENTS...: fails, saying so, and leaves nothing behind
  local text=$1
  shift
  expect 1 data convert "$@" -o refused.tsv
  stderr_has "$text"
  absent refused.tsv
}

# Moses, of two files and of three; lines with an empty side are left out, tabs within are blanks.
printf 'A cat.\n\nTwo\tdogs. \n' >x.en
printf 'Eine Katze.\nNichts.\nZwei Hunde.\n' >x.de
printf 'Un chat.\n\nDeux chiens.' >x.fr
converts 'A cat.\tEine Katze.\nTwo dogs.\tZwei Hunde.\n' --from moses x.en x.de
stderr_has "3 rows read, 2 written; 1 empty"
converts 'A cat.\tEine Katze.\tUn chat.\nTwo dogs.\tZwei Hunde.\tDeux chiens.\n' -f moses x.en x.de x.fr
gzip -k x.en
expect 0 data convert --from moses x.en.gz x.de -o out.tsv.gz
gzip -dc out.tsv.gz >unpacked
printf 'A cat.\tEine Katze.\nTwo dogs.\tZwei Hunde.\n' >expected
same expected unpacked
gzip -t out.tsv.gz || fail "the output is no sound gzip file"
head -n 2 x.de >short.de
refused "short.de: ends after line 2, but x.en has more lines" --from moses x.en short.de
refused "short.de: ends after line 2, but x.en has more lines" --from moses short.de x.en
printf 'A cat.\n\xff\nTwo dogs.\n' >bad.en
refused "bad.en:2: not UTF-8" --from moses bad.en x.de
converts 'A cat.\tEine Katze.\nTwo dogs.\tZwei Hunde.\n' --from moses --skip-bad bad.en x.de
stderr_has "1 malformed"
expect 2 data convert --from moses x.en
stderr_has "moses is read from SOURCE TARGET..."
expect 2 data convert --from moses --columns 1,2 x.en x.de
stderr_has "no columns to choose"
expect 2 data convert --from parchment x.en
stderr_has "there is no format 'parchment'"
refused "nowhere.de: cannot open" --from moses x.en nowhere.de
refused "standard input is named 2 times" --from moses - -

# Europarl: the same without markup.
printf '<CHAPTER ID=1>\nThe sitting is open.\n<P>\n' >e.en
printf '<CHAPTER ID=1>\nDie Sitzung ist offen.\n<P>\n' >e.de
converts 'The sitting is open.\tDie Sitzung ist offen.\n' --from europarl e.en e.de
stderr_has "2 markup"

# Tables.
printf 'id1\teins\tone\nid2\tzwei\ttwo\n' >t.tsv
converts 'one\teins\ntwo\tzwei\n' --from tsv --columns 3,2 t.tsv
converts 'id1\teins\nid2\tzwei\n' --from tsv t.tsv
printf 'one\tun\n' >more.tsv
expect_from more.tsv 0 data convert --from tsv t.tsv -
printf 'id1\teins\nid2\tzwei\none\tun\n' >expected
same expected stdout
refused "t.tsv:1: 3 columns, expected at least 4" --from tsv --columns 1,4 t.tsv
refused "column 'en', expected a number" --from tsv --columns en,de t.tsv
expect 2 data convert --from tsv --columns 1 t.tsv -o refused.tsv
stderr_has "1 column, expected 2"
absent refused.tsv
printf 'en\tde\tfr\nyes\tja\toui\nno\t\tnon\n' >ted.tsv
converts 'oui\tyes\nnon\tno\n' --from ted2020 --columns fr,en ted.tsv
converts 'yes\tja\n' --from ted2020 --columns en,de ted.tsv
stderr_has "2 rows read, 1 written; 1 empty"
converts 'yes\tja\toui\nno\t\tnon\n' --from ted2020 --columns en,de,fr ted.tsv
refused "no column is named 'it'" --from ted2020 --columns en,it ted.tsv
refused "which columns?" --from ted2020 ted.tsv
: >empty
refused "empty: no line of column names" --from ted2020 --columns en,de empty
printf '1.3\tgood\tgut\n1.05\tfair\tordentlich\n1.0499\tbad\tschlecht\n' >wm.tsv
converts 'good\tgut\nfair\tordentlich\n' --from wikimatrix wm.tsv
stderr_has "1 below the threshold"
converts 'good\tgut\n' --from wikimatrix --threshold 1.2 wm.tsv
converts 'good\tgut\nfair\tordentlich\nbad\tschlecht\n' --from wikimatrix --threshold 0 wm.tsv
expect 2 data convert --from tsv --threshold 0 wm.tsv
stderr_has "no scores"
printf '1.3\tgood\tgut\nx1\tfair\tordentlich\n' >wm.tsv
refused "wm.tsv:2: 'x1', expected a score" --from wikimatrix wm.tsv
converts 'good\tgut\n' --from wikimatrix --skip-bad wm.tsv
printf 'cat chat\ndog\tchien\n' >muse.txt
converts 'cat\tchat\ndog\tchien\n' --from muse muse.txt
printf 'cat chat\ndog\n' >muse.txt
refused "muse.txt:2: 'dog', expected two words" --from muse muse.txt
printf 'cat chat noir\n' >muse.txt
refused "muse.txt:1: 'cat chat noir', expected two words" --from muse muse.txt

# Parquet: a struct of two languages, with a score, with a hard negative; several files; what is refused.
parquet=$SOURCE/tests/golden/parquet
converts 'The a is here.\ta ist hier.\nThe river is here.\triver ist hier.\nThe the old mill is here.\tthe old mill ist hier.\nThe the old mill by the river is here.\tthe old mill by the river ist hier.\n' --from parquet $parquet/pairs.parquet
stderr_has "4 rows read, 4 written"
converts 'a cat\tone cat\t4.75\na dog\ta fish\t0.5\n' --from parquet $parquet/scored.parquet
converts 'one cat\t1\na fish\t2\n' --from parquet --columns sentence2,idx $parquet/scored.parquet
converts 'a1\tp1\tn1\na2\tp2\tn2\n' --from parquet $parquet/triplets.parquet
expect 0 data convert --from parquet --columns en,de $parquet/fallback.parquet $parquet/empty.parquet $parquet/pairs.parquet
lines_are stdout 34
expect 0 data convert --from parquet --columns translation.en,translation.de $parquet/zstd-v2.parquet -o some.tsv
stderr_has "40 rows read, 26 written; 14 empty"
refused "binary.parquet: byte 48: column 'en', row group 0, row 2: not UTF-8 at byte 0 of the text" --from parquet $parquet/binary.parquet
converts 'one\teins\nthree\tvier\n' --from parquet --skip-bad $parquet/binary.parquet
stderr_has "4 rows read, 2 written; 2 malformed"
refused "no column is called 'fr'; there are id, translation." --from parquet --columns en,fr $parquet/pairs.parquet
refused "which columns? Some of en" --from parquet $parquet/lists.parquet
refused "column 'words.list.element' is a list or map (REPEATED)" --from parquet --columns en,element $parquet/lists.parquet
refused "compressed with Brotli; Snappy, gzip and Zstandard are read" --from parquet $parquet/brotli.parquet
head -c 600 $parquet/pairs.parquet >cut.parquet
refused "cut.parquet: byte 596: truncated: no \"PAR1\" at the end" --from parquet cut.parquet
refused "t.tsv: byte 0: not a Parquet file" --from parquet t.tsv
refused "read from files only" --from parquet -

# TMX: languages with regions, several segments, layout, entities, UTF-16.
cat >memory.tmx <<'END'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="EN-gb"><seg>It <hi>rains</hi> &amp; snows<ph x="1">&lt;br/&gt;<sub>not this</sub></ph>.</seg></tuv>
    <tuv xml:lang="de"><seg>Es regnet
 und schneit.</seg></tuv><tuv xml:lang="fr"><seg>Il pleut.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Alone.</seg></tuv></tu>
<tu><tuv lang="de"><seg>Alt.</seg></tuv><tuv lang="en"><prop>note</prop><seg>Old.</seg></tuv><tuv lang="en"><seg>Aged.</seg></tuv></tu>
<tu><tuv xml:lang="eng"><seg>Other code.</seg></tuv><tuv xml:lang="de-x-home"><seg>Anders.</seg></tuv></tu>
</body></tmx>
END
converts 'It rains & snows.\tEs regnet und schneit.\nOld.\tAlt.\nOther code.\tAnders.\n' --from tmx --columns en,de memory.tmx
stderr_has "4 rows read, 3 written; 1 without a language"
converts 'Il pleut.\tIt rains & snows.\n' --from tmx --columns fr,en memory.tmx
converts 'Il pleut.\tIt rains & snows.\n' --from tmx --columns fra,ENG memory.tmx
iconv -f UTF-8 -t UTF-16 memory.tmx | sed 's/U\x00T\x00F\x00-\x008/U\x00T\x00F\x00-\x001\x006/' >wide.tmx
expect 0 data convert --from tmx --columns en,de memory.tmx -o narrow.tsv
expect 0 data convert --from tmx --columns en,de wide.tmx
same narrow.tsv stdout
gzip -k memory.tmx
expect 0 data convert --from tmx --columns en,de memory.tmx.gz memory.tmx
lines_are stdout 6
# A unit that does not end costs only itself, and is not merged with the next.
{
  echo '<tmx><body><tu><tuv xml:lang="en"><seg>Old.</seg></tuv><tuv xml:lang="de"><seg>Al'
  echo '<tu><tuv xml:lang="en"><seg>New.</seg></tuv><tuv xml:lang="de"><seg>Neu.</seg></tuv></tu></body></tmx>'
} >open.tmx
refused "open.tmx:2: a <tu> in a <tu>" --from tmx --columns en,de open.tmx
converts 'New.\tNeu.\n' --from tmx --columns en,de --skip-bad open.tmx

head -n 6 memory.tmx >cut.tmx
refused "cut.tmx:6: it ends too early" --from tmx --columns en,de cut.tmx
head -c 100 memory.tmx.gz >cut.tmx.gz
refused "cut.tmx.gz: byte 100: broken gzip stream: ends too early" --from tmx --columns en,de cut.tmx.gz
refused "which languages?" --from tmx memory.tmx
expect_from memory.tmx.gz 0 data convert --from tmx --columns en,de
lines_are stdout 3
printf '<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx><tu><tuv xml:lang="en"><seg>caf&eacute;</seg></tuv></tu></tmx>' >bad.tmx
refused "bad.tmx:2: entity '&eacute;' is not defined" --from tmx --columns en,de bad.tmx
printf '<!DOCTYPE tmx [<!ENTITY x SYSTEM "/etc/hostname">]>\n<tmx><tu><tuv xml:lang="en"><seg>a&x;</seg></tuv></tu></tmx>' >bad.tmx
refused "bad.tmx:2: an entity of another file" --from tmx --columns en,de bad.tmx
{
  printf '<!DOCTYPE tmx [<!ENTITY l0 "lol">'
  for n in {1..11}; do printf '<!ENTITY l%d "%s">' "$n" "$(printf "&l$((n - 1));%.0s" {1..10})"; done
  printf ']>\n<tmx><tu><tuv xml:lang="en"><seg>&l11;</seg></tuv></tu></tmx>'
} >bad.tmx
refused "bad.tmx:2: " --from tmx --columns en,de bad.tmx
printf '<!DOCTYPE tmx [<!ENTITY x "%0100000d">]>\n<tmx><tu><tuv xml:lang="en"><seg>%s</seg></tuv></tu></tmx>' 0 \
  "$(printf '&x;%.0s' {1..2000})" >bad.tmx
refused "bad.tmx:2: too much text from entities" --from tmx --columns en,de bad.tmx
printf '<!DOCTYPE tmx [<!ENTITY two "<tu/><tu/>">]>\n<tmx>&two;</tmx>' >bad.tmx
refused "bad.tmx:2: several records in one entity" --from tmx --columns en,de bad.tmx
# Attributes with a ">", and an entity that may be used.
printf '<!DOCTYPE tmx [<!ENTITY e "\xc3\xa9">]>\n<tmx><tu a=">"><tuv lang="en" a=" > "><seg>caf&e; ></seg></tuv>' >more.tmx
printf '<tuv lang="de"><seg><![CDATA[> <b>]]></seg></tuv></tu><!-- <a> > --><tu a=">"/></tmx>' >>more.tmx
converts 'caf\xc3\xa9 >\t> <b>\n' --from tmx --columns en,de more.tmx
# A malformed unit costs only itself, wherever it is, and lines and entities stay right; encodings that are declared.
for bad in '&#x1F;' '\x01' '\xef\xbf\xbf' 'a & b' '&#xD83D;&#xDE00;' '\xff' '&none;' '<hi>' '</hi>' '<b a=1/>' '<' '</seg></tuv><tuv'; do
  for at in 1 2 3; do
    {
      printf '<?xml version="1.0"?>\n<!DOCTYPE tmx [<!ENTITY e "\xc3\xa9">]>\n<tmx><header/><body>\n'
      for i in 1 2 3; do
        [ $i = $at ] && what=$bad || what="caf&e;"
        printf "<tu><tuv xml:lang=\"en\"><seg>A$i</seg></tuv><tuv xml:lang=\"de\">\n<seg>$what</seg></tuv></tu>\n"
      done
      printf '</body></tmx>\n'
    } >bad.tmx
    refused "bad.tmx:$((3 + 2 * at)): " --from tmx --columns en,de bad.tmx
    converts "$(for i in 1 2 3; do [ $i = $at ] || printf 'A%d\\tcafé\\n' $i; done)" --from tmx --columns en,de --skip-bad bad.tmx
    stderr_has "3 rows read, 2 written; 1 malformed"
  done
done
unit='<tu><tuv xml:lang="en"><seg>A</seg></tuv><tuv xml:lang="de"><seg>caf%b</seg></tuv></tu>'
for name in windows-1252:'\xe9' ISO-8859-2:'\xe9' UTF8:'\xc3\xa9' utf-16:'\xc3\xa9' Shift_JIS:'\x83\xd3' IBM850:'\x82'; do
  printf "<?xml version='1.0' encoding='%s'?><tmx>$unit</tmx>" "${name%:*}" "${name#*:}" >old.tmx
  [ "${name%:*}" = Shift_JIS ] && e=φ || e=é
  converts "A\tcaf$e\n" --from tmx --columns en,de old.tmx
done
printf "<?xml version='1.0' encoding='x-none'?><tmx>$unit</tmx>" x >bad.tmx
refused "bad.tmx:1: the encoding 'x-none' is not known" --from tmx --columns en,de bad.tmx
{ printf '<TEI><text>'; printf '<entry><form><orth>%s</orth></form><cit type="trans"><quote>x</quote></cit></entry>\n' a 'b & c' d; echo '</text></TEI>'; } >bad.tei
converts 'a\tx\nd\tx\n' --from tei --skip-bad bad.tei
printf '<xliff><file/></xliff>' >bad.tmx
refused "bad.tmx: no <tu> in it" --from tmx --columns en,de memory.tmx bad.tmx

# OPUS: tokenized and not, one to many, a gzipped document, links as lines.
mkdir -p root/en root/de
printf '<text><s id="1"><w id="1.1">It</w> <w id="1.2">rains</w> <w>.</w></s>\n<s id="2">\n<w>Yes</w>\n</s><s id="3"><w>Well</w></s></text>' >root/en/a.xml
printf '<text><s id="1">Es regnet .</s><s id="2">Ja\n</s><s id="4">Nun ja</s></text>' | gzip >root/de/a.xml.gz
cat >links.xml <<'END'
<cesAlign><linkGrp fromDoc="en/a.xml.gz" toDoc="de/a.xml.gz"><link xtargets="1;1"/><link xtargets="2 3;2 4" certainty="1"/>
<link xtargets="3;"/><link xtargets="9;1"/></linkGrp></cesAlign>
END
converts 'It rains .\tEs regnet .\nYes Well\tJa Nun ja\n' --from opus links.xml root
stderr_has "4 rows read, 2 written; 1 without a translation, 1 sentences that are not there"
printf 'en/a.xml.gz\tde/a.xml.gz\t1\t1\nen/a.xml.gz\tde/a.xml.gz\t2 3\t2 4\t0.9\n' >links.tsv
converts 'It rains .\tEs regnet .\nYes Well\tJa Nun ja\n' --from ids links.tsv root
printf 'en/a.xml.gz\tde/a.xml.gz\t1\n' >bad.tsv
refused "bad.tsv:1: 3 columns, expected at least 4" --from ids bad.tsv root
printf '<cesAlign>\n<link xtargets="1;1"/></cesAlign>' >bad.xml
refused "bad.xml:2: a link before the group" --from opus bad.xml root
printf '<cesAlign><linkGrp fromDoc="en/a.xml" toDoc="de/a.xml.gz">\n<link xtargets="1 1"/></linkGrp></cesAlign>' >bad.xml
refused "bad.xml:2: a link without xtargets" --from opus bad.xml root
printf '<linkGrp fromDoc="en/a.xml" toDoc="de/none.xml">\n<link xtargets="1;1"/></linkGrp>' >bad.xml
refused "de/none.xml: cannot open" --from opus bad.xml root
printf '<text><s id="1">A</s>\n<s id="1">B</s></text>' >root/de/twice.xml
printf '<linkGrp fromDoc="en/a.xml" toDoc="de/twice.xml">\n<link xtargets="1;1"/></linkGrp>' >bad.xml
refused "twice.xml:2: two sentences of id '1'" --from opus bad.xml root
printf '<text><s id="1">A <s id="2">B</s> C</s></text>' >root/de/twice.xml
refused "twice.xml:1: a sentence within another" --from opus bad.xml root
refused "no <linkGrp> in it" --from opus root/en/a.xml root
for name in ../root/de/a.xml.gz /etc/hostname de/../../x ..; do
  printf 'en/a.xml.gz\t%s\t1\t1\n' "$name" >bad.tsv
  refused "must lie under the directory" --from ids bad.tsv root
done

# Tatoeba: links both ways give one row.
printf '1\teng\tA house.\n2\tdeu\tEin Haus.\n3\tfra\tUne maison.\n4\teng\tA home.\n' >sentences.csv
printf '1\t2\n2\t1\n4\t2\n2\t4\n1\t3\n7\t2\n' >links.csv
converts 'A house.\tEin Haus.\nA home.\tEin Haus.\n' --from tatoeba --columns eng,deu links.csv sentences.csv
stderr_has "6 rows read, 2 written; 4 other languages, or the other direction"
converts 'A house.\tEin Haus.\nA home.\tEin Haus.\n' --from tatoeba --columns en,de links.csv sentences.csv
refused "no sentence is of language 'ita'" --from tatoeba --columns eng,ita links.csv sentences.csv
printf '1\teng\n' >bad.csv
refused "bad.csv:1: 2 columns, expected at least 3" --from tatoeba --columns eng,deu links.csv bad.csv
refused "0 languages, expected 2" --from tatoeba links.csv sentences.csv
cat sentences.csv bad.csv >some.csv
expect 0 data convert --from tatoeba --columns eng,deu links.csv some.csv --skip-bad
stderr_has "1 malformed"

# Wikipedia's dumps: escapes, other namespaces and languages, rows over several statements.
cat >page.sql <<'END'
-- a dump
CREATE TABLE `page` (
INSERT INTO `page` VALUES (12,0,'Old_town','',0,0.5,NULL),(13,1,'Old_town','x'),(14,0,'It\'s_(a)_\"test\",_\\yes','');
INSERT INTO `page` VALUES (15,0,'Nothing','');
END
cat >langlinks.sql <<'END'
INSERT INTO `langlinks` VALUES (12,'de','Altstadt'),(12,'fr','Vieille ville'),(13,'de','Diskussion'),(14,'de','Das ist\'s');
END
converts 'Old town\tAltstadt\nIt'"'"'s (a) "test", \\yes\tDas ist'"'"'s\n' --from wikititles --columns en,de page.sql langlinks.sql
stderr_has "4 rows read, 2 written; 1 no article, 1 without a translation"
refused "no link to language 'it'" --from wikititles --columns en,it page.sql langlinks.sql
printf "INSERT INTO \`page\` VALUES (12,0,'Open" >bad.sql
refused "bad.sql:1: expected the end of a value" --from wikititles --columns en,de bad.sql langlinks.sql
printf "\nINSERT INTO \`page\` VALUES (12,0);\n" >bad.sql
refused "bad.sql:2: expected three values" --from wikititles --columns en,de bad.sql langlinks.sql
printf "INSERT INTO \`page\` of nothing\n" >bad.sql
refused "bad.sql:1: expected VALUES" --from wikititles --columns en,de bad.sql langlinks.sql

# Questions: those both have, and a paragraph before its first.
printf '{"data":[{"paragraphs":[{"context":"Rain\\nfell.","qas":[{"id":"a","question":"What fell?"},{"id":"b","question":"When?"}]},{"context":"Alone.","qas":[{"id":"z","question":"Who?"}]}]}]}' >q.en
printf '{"data":[{"paragraphs":[{"context":"Regen fiel.","qas":[{"id":"b","question":"Wann?"},{"id":"a","question":"Was fiel?"}]}]}]}' >q.de
converts 'Rain fell.\tRegen fiel.\nWhat fell?\tWas fiel?\nWhen?\tWann?\n' --from xquad q.en q.de
stderr_has "1 without a translation"
printf '{"data":[{"paragraphs":[{"context":"Rain.","qas":[{"id":"a"}]}]}]}' >bad.json
refused "bad.json: article 1, paragraph 1: no text under 'question'" --from xquad q.en bad.json
printf '{"data":[{"paragraphs":[{"context":"R\\u0000","qas":[]}]}]}' >bad.json
refused "bad.json: article 1, paragraph 1: no text under 'context', or one with NUL" --from xquad q.en bad.json
printf '{"data":\n[' >bad.json
refused "bad.json:2" --from xquad bad.json q.de
printf '{"data":[1]}' >bad.json
refused "bad.json: article 1: no array 'paragraphs'" --from xquad q.en bad.json
printf '{"data":[{"paragraphs":[{"context":"R","qas":[{"id":"a","question":"Q"},{"id":"a","question":"P"}]}]}]}' >bad.json
refused "bad.json: two questions of id 'a'" --from xquad q.en bad.json
printf '[]' >bad.json
refused "bad.json: no array 'data'" --from xquad bad.json q.de

# Dictionaries of the DICT server: an entry's place is in digits of base 64. Headwords and their pronunciations; translations
# with notes, labels and examples around them; senses; definitions behind translations; entries about the dictionary.
entry() { # WORD TEXT: another entry, and its line of the index
  printf '%s\t%s\t%s\n' "$1" "$(base64_digits "$(wc -c <d.dict)")" "$(base64_digits "$(printf "$2" | wc -c)")" >>d.index
  printf "$2" >>d.dict
}
base64_digits() { # NUMBER
  local digits=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/ n=$1 out=
  while [ "$n" -gt 0 ] || [ -z "$out" ]; do out=${digits:$((n % 64)):1}$out n=$((n / 64)); done
  echo "$out"
}
: >d.dict && : >d.index
entry 00databaseinfo 'A dictionary.\n'
entry colour 'colour /kʌlə/, color //kʌlɚ// <n>\nFarbe <fem>, Farbton [poet.] ; (helle) Schattierung.\n   Synonym: {hue}\n see: {paint}\n'
entry case 'case\n1. Fall <masc>\n      "in any case, yes"\n2. \n a definition, alone\n 3.  Koffer, Kiste 4.\na box\n  b. Hülle\n - etwas\n'
entry note 'note /x/\n(noun)\n\n [mus.] Note\nwhat is sung\n'
entry none 'none\n(see elsewhere)\n'
entry 'you know, well' 'you know, well /juː/\nnun~ja\n'
entry дом 'дом\nhome\xe2\x80\x90made, до\xcc\x81м\n'
entry كتب 'كتب\nكِتَابٌ، كُتُب\n'
printf 'color\t%s\t%s\n' $(sed -n '2s/[^\t]*\t//p' d.index) >>d.index
converts 'colour\tFarbe\ncolour\tFarbton\ncolour\tSchattierung\ncolor\tFarbe\ncolor\tFarbton\ncolor\tSchattierung\ncase\tFall\ncase\tKoffer\ncase\tKiste\ncase\tHülle\nnote\tNote\nyou know, well\tnun ja\nдом\thome-made\nдом\tдом\nكتب\tكتاب\nكتب\tكتب\n' \
  --from dictd d.index
stderr_has "17 rows read, 16 written; 1 without a translation"
gzip -c d.dict >d.dict.dz && mv d.dict away
expect 0 data convert --from dictd --columns 2,1 d.index
head -n 1 stdout >first
printf 'Farbe\tcolour\n' >expected
same expected first
refused "a dictionary's columns are 1,2 (word, translation) or 2,1" --from dictd --columns 3,1 d.index
refused "d.txt: expected the name of an index, NAME.index" --from dictd d.txt
printf 'word\tA\tB!\n' >bad.index
: >bad.dict
refused "bad.index:1: expected a word, an offset and a length between tabs" --from dictd bad.index
printf 'word\tA\n' >bad.index
refused "bad.index:1: expected a word" --from dictd bad.index
printf 'word\tAAAAAAAAAAAAAAAAAAA////////////\tA\n' >bad.index
refused "bad.index:1: expected a word" --from dictd bad.index
printf '00databaseinfo\tA\tB\n' >bad.index
refused "bad.index: no word in it: is it a dictionary's index?" --from dictd bad.index
printf 'word\tC\tD\nfar\t///\tD\n' >bad.index
printf 'a word\nb\n' >bad.dict
refused "bad.index: none of 2 rows can be written: 2 not where the index says" --from dictd bad.index
echo kept >kept.tsv # what can write nothing leaves a file as it is
expect 1 data convert --from dictd bad.index --output kept.tsv
[ "$(cat kept.tsv)" = kept ] || fail "a file was emptied"
rm bad.dict
refused "bad.index: there is neither bad.dict.dz nor bad.dict next to it" --from dictd bad.index
# A wrong length costs no other entry.
printf 'one\n eins\ntwo\n zwei\nthree\n drei\n' >long.dict
printf 'one\tA\tK\ntwo\tK\t//////\nthree\tU\tM\n' >long.index
converts 'one\teins\ntwo\tzwei\nthree\tdrei\n' --from dictd long.index

# TEI: translations, not those of examples.
cat >d.tei <<'END'
<TEI><text><body>
<entry><form><orth>colour</orth><orth>color</orth></form>
<sense><cit type="trans"><quote>Farbe</quote><quote>Farbton</quote></cit>
<cit type="example"><quote>a colour</quote><cit type="trans"><quote>eine Farbe</quote></cit></cit></sense></entry>
<entry><form><orth>none</orth></form><sense><def>nothing</def></sense></entry>
<entry><form><orth>tea</orth></form><sense><cit type="translation"><quote>Tee</quote></cit></sense></entry>
</body></text></TEI>
END
converts 'colour\tFarbe\ncolour\tFarbton\ncolor\tFarbe\ncolor\tFarbton\ntea\tTee\n' --from tei d.tei
stderr_has "6 rows read, 5 written; 1 without a translation"
converts 'Farbe\tcolour\nFarbton\tcolour\nFarbe\tcolor\nFarbton\tcolor\nTee\ttea\n' --from tei --columns 2,1 d.tei
printf '<TEI></TEI>' >bad.tei
refused "bad.tei: no <entry> in it: is it TEI?" --from tei bad.tei
printf '<TEI>\n<entry>' >bad.tei
refused "bad.tei:2" --from tei bad.tei
{ printf '<TEI><entry>' && printf '<cit>%.0s' $(seq 65); } >bad.tei
refused "more than 64 deep" --from tei bad.tei

# gettext, as text: plurals, contexts, several lines, escapes; what is left out; other encodings; what is refused.
cat >de.po <<'END'
# Translators
#, fuzzy
msgid ""
msgstr ""
"Language: de\n"
"Content-Type: text/plain; charset=UTF-8\n"

#: a.c:1
#| msgid "Close"
msgid "_Open"
msgstr "_Öffnen"
msgctxt "menu"
msgid "_Open" msgstr "Auf\t\"machen\"\\ \303\251"

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"
#, fuzzy, c-format
msgid "Guess"
msgstr "Geraten"
msgid "Nothing"
msgstr ""
msgid ""
"Two "
"parts"
msgstr ""
"Zwei "

"Teile"
#~ msgid "Old"
#~ msgstr "A"
#~ "lt"
#~| msgid "x"
#~ msgid "Older"
#~ msgstr "Älter"
END
gettext_rows='_Open\t_Öffnen\n_Open\tAuf "machen"\\ é\n%%d file\t%%d Datei\n%%d files\t%%d Dateien\nTwo parts\tZwei Teile\n'
converts "$gettext_rows" --from gettext de.po
stderr_has "9 rows read, 5 written; 1 fuzzy, 1 untranslated, 2 obsolete"
gzip -k de.po
converts "$gettext_rows" --from gettext de.po.gz
printf '\xef\xbb\xbfmsgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8"\nmsgid "A"\nmsgstr "B"' >bom.po
converts 'A\tB\n' --from gettext bom.po
iconv -f UTF-8 -t UTF-16 de.po >wide.po
converts "$gettext_rows" --from gettext wide.po
printf 'msgid "\\x41-\\x62z"\nmsgstr "\\xC3\\xa9\\x!"\n' >hex.po
converts 'A-bz\téx!\n' --from gettext hex.po
# In Shift_JIS, the second byte of a character may be a backslash.
printf 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=Shift_JIS\\n"\nmsgid "table"\nmsgstr "\x95\x5c"\n' >ja.po
converts 'table\t表\n' --from gettext ja.po
printf 'msgid "%%d day"\nmsgid_plural "%%d days"\nmsgstr[0] "%%d일"\n' >ko.po
converts '%%d days\t%%d일\n' --from gettext ko.po
printf 'msgid "A"\nmsgstr "B"\nmsgid "A"\nmsgstr "C"\nmsgctxt ""\nmsgid "A"\nmsgstr "D"\n' >twice.po
converts 'A\tB\nA\tD\n' --from gettext twice.po
stderr_has "3 rows read, 2 written; 1 repeated"
bad_po() { # TEXT CONTENT
  printf "$2" >bad.po
  refused "$1" --from gettext bad.po
}
bad_po "bad.po:2: expected msgid, msgstr or a string before 'mgsstr \"B\"'" 'msgid "A"\nmgsstr "B"\n'
bad_po "bad.po:2: a string has no '\"' at its end" 'msgid "A"\nmsgstr "B\n'
bad_po "bad.po:2: a string has no '\"' at its end" 'msgid "A"\nmsgstr "B\\'
bad_po "bad.po:1: expected a string before 'A'" 'msgid A\n'
bad_po "bad.po:1: expected msgid before '\"A\"'" '"A"\n'
bad_po "bad.po:1: expected another part of the entry before 'msgstr \"A\"'" 'msgstr "A"\n'
bad_po "bad.po:2: expected another part of the entry before 'msgid \"B\"'" 'msgid "A"\nmsgid "B"\n'
bad_po "bad.po:3: expected another part of the entry before 'msgstr \"C\"'" 'msgid "A"\nmsgstr "B"\nmsgstr "C"\n'
bad_po "bad.po:2: expected msgstr before ''" 'msgid "A"\n'
bad_po "bad.po: the encoding 'x-none' is not known" 'msgid ""\nmsgstr "Content-Type: text/plain; charset=x-none\\n"\n'
bad_po "bad.po: message 'A' is not in the encoding that its header names, or UTF-8" 'msgid "A"\nmsgstr "\xff"\n'
bad_po "bad.po: message 'A' has a NUL" 'msgid "A"\nmsgstr "B\\0"\n'
printf 'msgid "C"\nmsgstr "D"\n' >>bad.po
converts 'C\tD\n' --from gettext --skip-bad bad.po
stderr_has "2 rows read, 1 written; 1 malformed"

# Compiled: both byte orders, contexts, plurals, an encoding, strings that depend on the system, and truncation.
mo() { # ORDER ID TEXT...: a file with these strings, in which a | is a NUL; each is of fewer than 256 bytes
  local order=$1 ids='' texts='' data='' n=$((($# - 1) / 2)) at
  shift
  word() { [ $order = little ] && printf '\\x%02x\\x%02x\\0\\0' $(($1 % 256)) $(($1 / 256)) || printf '\\0\\0\\x%02x\\x%02x' $(($1 / 256)) $(($1 % 256)); }
  at=$((28 + 16 * n + ${#extra} / 4))
  while [ $# -gt 0 ]; do
    ids+=$(word $(printf "$1" | wc -c))$(word $at) data+=${1//|/\\0}'\0'
    at=$((at + $(printf "$1" | wc -c) + 1))
    texts+=$(word $(printf "$2" | wc -c))$(word $at) data+=${2//|/\\0}'\0'
    at=$((at + $(printf "$2" | wc -c) + 1))
    shift 2
  done
  [ $order = little ] && printf '\xde\x12\x04\x95' || printf '\x95\x04\x12\xde'
  printf "$(word ${revision:-0})$(word $n)$(word $((28 + ${#extra} / 4)))$(word $((28 + ${#extra} / 4 + 8 * n)))$(word 0)$(word 0)$extra$ids$texts$data"
}
extra=
for order in little big; do
  mo $order '' 'Content-Type: text/plain; charset=UTF-8\n' '%%d file|%%d files' '%%d Datei|%%d Datein|%%d Dateien' Empty '' 'menu\4Open' 'Öffnen' >$order.mo
  converts '%%d file\t%%d Datei\n%%d files\t%%d Dateien\nOpen\tÖffnen\n' --from gettext $order.mo
  stderr_has "4 rows read, 3 written; 1 untranslated"
done
mo little '' 'Content-Type: text/plain; charset=ISO-8859-1\n' caf\\xe9 Caf\\xe9 >latin.mo
converts 'café\tCafé\n' --from gettext latin.mo
mo little caf\\xe9 Caf\\xe9 A B >latin.mo
refused "latin.mo: message 'caf' is not in the encoding that its header names, or UTF-8" --from gettext latin.mo
converts 'A\tB\n' --from gettext --skip-bad latin.mo
extra='\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00' revision=1
mo little A B >system.mo
extra= revision=
converts 'A\tB\n' --from gettext system.mo
stderr_has "3 rows read, 1 written; 2 dependent on the system"
for n in $(seq 4 $(($(wc -c <little.mo) - 2))); do
  head -c "$n" little.mo >cut.mo
  expect 1 data convert --from gettext cut.mo -o refused.tsv
  stderr_has "cut.mo: byte "
done
absent refused.tsv
revision=512
printf '\xde\x12\x04\x95\0\0\2\0%020d' 0 >bad.mo
refused "bad.mo: byte 4: revision 2.0, expected 0 or 1" --from gettext bad.mo
revision=

# A tree: the catalogs of a language, two languages, regions; other files are ignored.
for l in ko de pt_BR sr@latin; do mkdir -p locale/$l/LC_MESSAGES; done
mo little '' 'Content-Type: text/plain; charset=UTF-8\n' Open 열기 Close 닫기 >locale/ko/LC_MESSAGES/a.mo
mo little Open 열다 >locale/ko/LC_MESSAGES/b.mo
mo little Open Öffnen Save Sichern >locale/de/LC_MESSAGES/a.mo
mo little Open Abrir >locale/pt_BR/LC_MESSAGES/a.mo
mo little Open Otvori >locale/sr@latin/LC_MESSAGES/a.mo
echo none >locale/ko/LC_MESSAGES/README
converts 'Open\t열기\nClose\t닫기\nOpen\t열다\n' --from gettext --columns en,ko locale
converts '열기\tÖffnen\n' --from gettext --columns ko,de locale
stderr_has "4 rows read, 1 written; 3 without a translation"
converts 'Abrir\tOpen\n' --from gettext --columns pt,en locale
converts 'Open\tÖffnen\tAbrir\n' --from gettext --columns en,de,pt-br locale
refused "locale: no text is of language 'fr'; there are de, ko, pt_BR, sr@latin" --from gettext --columns en,fr locale
refused "no text is of language 'sr'" --from gettext --columns en,sr locale
converts 'Open\tOtvori\n' --from gettext --columns en,sr@latin locale
refused "locale: which languages? --columns en,de" --from gettext locale
mkdir locale/pt
mkdir locale/pt/LC_MESSAGES
mo little Open Abre >locale/pt/LC_MESSAGES/a.mo
converts 'Open\tAbre\n' --from gettext --columns en,pt locale
stderr_has "2 rows read, 1 written; 1 repeated"
cp de.po po-of-app.de.po
converts "$gettext_rows" --from gettext --columns en,de po-of-app.de.po
cp de.po app.po
converts "$gettext_rows" --from gettext --columns en,de app.po
printf x >locale/ko/LC_MESSAGES/b.mo
refused "locale/ko/LC_MESSAGES/b.mo:1: expected msgid, msgstr or a string before 'x'" --from gettext --columns en,ko locale
converts 'Open\t열기\nClose\t닫기\n' --from gettext --skip-bad --columns en,ko locale
stderr_has "3 rows read, 2 written; 1 malformed"

# Messages in JSON: nested, in two files and in trees of several layouts; what is refused.
mkdir -p i18n locales/en locales/de
printf '{"@metadata": {"authors": ["A"]}, "open": "Open", "menu": {"quit": "Quit", "n": 3}, "days": ["Mon", "Tue"]}' >i18n/en.json
printf '{"menu": {"quit": "Beenden"}, "days": ["Mo"], "open": "Öffnen", "more": "Mehr"}' >i18n/de.json
printf '{"open": "Apri"}' >i18n/it.json
converts 'Open\tÖffnen\nQuit\tBeenden\nMon\tMo\n' --from json-messages i18n/en.json i18n/de.json
stderr_has "5 rows read, 3 written; 2 without a translation"
converts 'Öffnen\tApri\n' --from json-messages --columns de,it i18n
refused "no text is of language 'fr'; there are de, en, it" --from json-messages --columns en,fr i18n
refused "en.json: which languages? --columns en,de" --from json-messages i18n/en.json
printf '{"a": "One", "b_one": "file"}' >locales/en/common.json
printf '{"a": "Eins"}' >locales/de/common.json
printf '{"a": "Two"}' >locales/en/other.json
printf '{"a": "Zwei"}' >locales/de/other.json
converts 'One\tEins\nTwo\tZwei\n' --from json-messages --columns en,de locales
printf '{"@@locale": "en", "hi": "Hello", "@hi": {"description": "x"}}' >app_en.arb
printf '{"@@locale": "pt", "hi": "Olá"}' >app_pt_BR.arb
converts 'Hello\tOlá\n' --from json-messages --columns en,pt app_en.arb app_pt_BR.arb
printf '{"open": "a\\u0000b", "menu": {"quit": "Fin"}}' >bad.json
refused "bad.json: message '/open' has a NUL" --from json-messages i18n/en.json bad.json
converts 'Quit\tFin\n' --from json-messages --skip-bad i18n/en.json bad.json
stderr_has "1 malformed"
printf '{"open": \n' >bad.json
refused "bad.json:" --from json-messages i18n/en.json bad.json

# XLIFF 1.2 and 2: layout, states, alternatives, languages in either order; what is refused.
cat >one.xlf <<'END'
<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en-US" target-language="de" original="a"><body>
<trans-unit id="1"><source>It <g id="1">rains</g>.<ph id="2">&lt;br/&gt;<sub>not this</sub></ph></source><seg-source><mrk mtype="seg">It</mrk></seg-source>
<target state="translated">Es regnet.<x id="2"/></target><alt-trans><source>No</source><target>Nein</target></alt-trans></trans-unit>
<trans-unit id="h" restype="x-gettext-domain-header"><source>Language: de</source><target>Language: de</target></trans-unit>
<trans-unit id="2"><source>Alone</source></trans-unit>
<trans-unit id="3"><source>Blank</source><target> </target></trans-unit>
<trans-unit id="4"><source>Fresh</source><target state="new">Fresh</target></trans-unit>
<trans-unit id="5"><source>Guess</source><target state="needs-review-translation">Rat</target></trans-unit>
<trans-unit id="6"><source>One &amp; two</source><target>Eins
und zwei</target></trans-unit>
</body></file></xliff>
END
converts 'It rains.\tEs regnet.\nOne & two\tEins und zwei\n' --from xliff one.xlf
stderr_has "7 rows read, 2 written; 1 header, 3 untranslated, 1 not final"
converts 'Es regnet.\tIt rains.\nEins und zwei\tOne & two\n' --from xliff --columns de,en one.xlf
refused "one.xlf: the languages are en-US and de, not en and fr" --from xliff --columns en,fr one.xlf
refused "xliff: 3 languages, expected 2" --from xliff --columns en,de,fr one.xlf
cat >two.xlf <<'END'
<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de"><x:file id="f"><x:unit id="1"><x:notes><x:note>No</x:note></x:notes>
<x:segment state="final"><x:source>A<x:cp hex="0009"/><x:pc id="1">cat</x:pc>.</x:source><x:target>Eine <x:mrk id="m">Katze</x:mrk>.</x:target></x:segment>
<x:ignorable><x:source>..</x:source><x:target>..</x:target></x:ignorable>
<x:segment state="initial"><x:source>A dog.</x:source><x:target>A dog.</x:target></x:segment></x:unit></x:file></x:xliff>
END
converts 'A cat.\tEine Katze.\n' --from xliff --columns en,de two.xlf
stderr_has "2 rows read, 1 written; 1 untranslated"
converts 'It rains.\tEs regnet.\nOne & two\tEins und zwei\nA cat.\tEine Katze.\n' --from xliff one.xlf two.xlf
sed 's/Alone/A \& b/' one.xlf >bad.xlf
refused "bad.xlf:6: " --from xliff bad.xlf
converts 'It rains.\tEs regnet.\nOne & two\tEins und zwei\n' --from xliff --skip-bad bad.xlf
stderr_has "1 malformed"
sed 's/A dog/A \& b/' two.xlf >bad.xlf
converts 'A cat.\tEine Katze.\n' --from xliff --skip-bad bad.xlf
stderr_has "1 malformed"
head -n 6 one.xlf >bad.xlf
refused "bad.xlf:6: it ends too early" --from xliff bad.xlf
printf '<xliff><trans-unit><trans-unit/></trans-unit></xliff>' >bad.xlf
refused "bad.xlf:1: a unit in a unit" --from xliff bad.xlf
refused "memory.tmx: no <trans-unit> or <segment> in it: is it XLIFF?" --from xliff memory.tmx

# Qt: forms, variants, bytes, states.
cat >de.ts <<'END'
<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en"><context><name>Window</name>
<message><location filename="a.cpp" line="1"/><source>&amp;Open</source><comment>menu</comment><translation>Ö&amp;ffnen</translation></message>
<message numerus="yes"><source>%n file(s)</source><translation><numerusform>%n Datei</numerusform><numerusform>%n Dateien</numerusform></translation></message>
<message><source>Long</source><translation variants="yes"><lengthvariant>Lang</lengthvariant><lengthvariant>L</lengthvariant></translation></message>
<message><source>Bell<byte value="x7"/>rings</source><translation>Es läutet</translation></message>
<message><source>Guess</source><translation type="unfinished">Rat</translation></message>
<message><source>Nothing</source><translation type="unfinished"></translation></message>
<message><source>Old</source><translation type="vanished">Alt</translation></message>
<message><source>Older</source><translation type="obsolete"/></message>
</context></TS>
END
converts '&Open\tÖ&ffnen\n%%n file(s)\t%%n Dateien\nLong\tLang\nBell rings\tEs läutet\n' --from qt-ts de.ts
stderr_has "8 rows read, 4 written; 1 not final, 1 untranslated, 2 obsolete"
expect 0 data convert --from qt-ts --columns de,en de.ts
head -n 1 stdout >first
printf 'Ö&ffnen\t&Open\n' >expected
same expected first
refused "de.ts: the languages are en and de_DE, not en and fr" --from qt-ts --columns en,fr de.ts
refused "one.xlf: no <message> in it: is it Qt's .ts?" --from qt-ts one.xlf

# Without --from, the files' endings choose the format, if they are of one; a wrong language lists those that are there.
converts "$gettext_rows" de.po
converts 'Es regnet.\tIt rains.\nEins und zwei\tOne & two\nEine Katze.\tA cat.\n' -c de,en one.xlf two.xlf
converts 'Il pleut.\tIt rains & snows.\n' --columns fr,en memory.tmx.gz
converts 'Hello\tOlá\n' --columns en,pt app_en.arb app_pt_BR.arb
for files in x.en 'de.po one.xlf' locale; do
  expect 2 data convert $files
  stderr_has "which format? The name does not tell: --from FORMAT"
done
refused "memory.tmx: no text is of language 'it'; there are EN-gb, de, fr, en, eng" --columns en,it memory.tmx

finish
