# calque data documents: any format as JSON lines.
. "$(dirname "$0")/common.sh"

mkdir -p docs/deep
printf '# Ein Titel\n\nEin Satz.\n' >docs/a.md
printf '<html lang=fr><title>Page</title><p>Bonjour' >docs/deep/b.html
printf 'text,year\n"one, two",1999\n' >docs/c.csv
expect 0 data documents --language none docs
stderr_has "read as csv (1 file), markdown (1 file), html (1 file)"
stderr_has "3 documents"
cat >expected <<'END'
{"id": "docs/a.md", "title": "Ein Titel", "text": "Ein Titel\n\nEin Satz."}
{"id": "docs/c.csv:2", "text": "one, two", "year": "1999"}
{"id": "docs/deep/b.html", "title": "Page", "text": "Bonjour", "language": "fr"}
END
same expected stdout

# What it prints it reads, from standard input, too.
cp stdout first
expect_from first 0 data documents --language none
same first stdout

# Refused: what it is, and where.
printf '{"text": 1.5}\n' >bad.jsonl
expect 1 data documents bad.jsonl
stderr_has "bad.jsonl:1: \"text\" is neither a string nor a whole number"
expect 1 data documents nowhere
stderr_has "nowhere: there is no such file or directory"
expect 2 data documents --format doc docs
printf 'sch\xF6n und gr\xFC\xDF dich, mein lieber Freund aus K\xF6ln\n' >latin.txt
expect 1 data documents latin.txt
stderr_has "latin.txt:1: not UTF-8"
stderr_has "the encoding may be ISO-8859-1"
expect 0 data documents --encoding ISO-8859-1 latin.txt

# UTF-16 without a mark is recognized, in both byte orders; where it cannot be told for sure, it is suggested. UTF-8 with
# stray NULs is not taken for it.
printf 'id;text\n1;The dog barks in the yard.\n2;\xd0\xa1\xd0\xbe\xd0\xb1\xd0\xb0\xd0\xba\xd0\xb0 \xd0\xbb\xd0\xb0\xd0\xb5\xd1\x82\n3;猫睡觉\n' >wide.csv
tr ';' '\t' <wide.csv >wide.tsv
cut -d ';' -f 2- wide.csv | tee wide.txt | sed 's/.*/{"text": "&"}/' >wide.jsonl
printf '一只狗在院子里叫。猫睡在沙发上，非常安静。\n猫睡觉。\n' >cjk.txt
for file in wide.csv wide.tsv wide.txt wide.jsonl; do
  expect 0 data documents "$file"
  cp stdout expected
  cp "$file" kept
  for encoding in UTF-16LE UTF-16BE; do
    iconv -t $encoding kept >"$file"
    expect 0 data documents "$file"
    same expected stdout
  done
done
for encoding in UTF-16LE UTF-16BE; do
  iconv -t $encoding cjk.txt >unknown.txt
  expect 1 data documents unknown.txt
  stderr_has "the encoding may be $encoding (--encoding)"
done
for text in 'b\0\na\n' 'a\0bc' 'jalid\0\nmimk\0\ncje\n' 'one\0two\0three\0four\0five\0' 'a dog\0\n' 'caf\xc3\xa9\0th\xc3\xa9\0'; do
  printf "$text" >nul.txt
  expect 1 data documents nul.txt
  stderr_has "nul.txt:1: a NUL byte at position"
done

# A file without a document is named; a malformed row costs that row.
printf 'id;text\r1;"a\nb"\r2;c;d\r3;e\r' >mac.csv
printf 'id,text\n' >names.csv
expect 0 data documents --language none --skip-bad mac.csv names.csv
printf '{"id": "1", "text": "a\\nb"}\n{"id": "3", "text": "e"}\n' >expected
same expected stdout
stderr_has "names.csv: no document in it"
stderr_has "skipped: mac.csv:4: 3 columns, the first row has 2"
stderr_has "1 document, file or folder was skipped"
expect 1 data documents mac.csv

# The format by name, where the first bytes do not tell; what a dump has that is no document is counted.
printf 'cue\n00:01.000 --> 00:02.000\nHello.\n' >cues.txt
expect 0 data documents --language none --format subtitles cues.txt
printf '{"id": "cues.txt", "text": "Hello."}\n' | same - stdout
printf '<!-- a dump -->\n<mediawiki>\n<page>\n<title>A</title>\n<ns>0</ns>\n<id>1</id>\n<text>[[b|c]]</text>\n</page>\n<page>\n<ns>1</ns>\n</page>\n' >dump.txt
expect 0 data documents --language none --format mediawiki dump.txt
printf '{"id": "1", "title": "A", "text": "c"}\n' | same - stdout
stderr_has "dump.txt: left out: redirects: 0, pages that are no articles: 1"

finish
