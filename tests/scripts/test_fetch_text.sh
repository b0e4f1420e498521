# scripts/text-pairs on small packages of each format, and what scripts/fetch-text says.
. "$(dirname "$0")/../cli/common.sh"

pairs() { # FORMAT [HELD_OUT]: of files/, to out/
  last="text-pairs $1"
  rm -rf out
  python3 "$SOURCE/scripts/text-pairs" "$1" files out "${@:2}" >stdout 2>stderr || fail "exit code $?"
  gzip -dc out/en-tr.tsv.gz >rows || fail "no rows"
}
row() { grep -qxF "$1	$2" rows || fail "no row '$1', '$2' in: $(cat rows)"; }
no_row() { ! grep -qF -- "$1" rows || fail "a row has '$1'"; }

# Objects of messages: the same path. Placeholders, plurals, tags; what is short, the same, or without English.
mkdir -p files/a/translations
cat >files/a/translations/en.json <<'END'
{"a": {"b": "Open <b>the door</b> for {name}", "n": "{count, plural, one {# old book} other {# old books}}", "same": "Bluetooth menu"},
 "short": "Off", "long": "One sentence is here. Another is there.", "code": "see https://example.org/door"}
END
cat >files/a/translations/tr.json <<'END'
{"a": {"b": "{name} i\u00e7in <b>kap\u0131y\u0131</b> a\u00e7", "n": "{count, plural, one {# eski kitap} other {# eski kitap}}", "same": "Bluetooth menu"},
 "short": "Kapa", "code": "bak https://example.org/kap\u0131", "alone": "Burada yaln\u0131z bir c\u00fcmle var."}
END
pairs json
letter=$(sed -n 's/^Open the door for \([XYZAB]\)\t.*/\1/p' rows)
row "Open the door for $letter" "$letter için kapıyı aç"
row "3 old books" "3 eski kitap"
lines_are rows 2
[ "$(gzip -dc out/tr.txt.gz)" = "Burada yalnız bir cümle var." ] || fail "text without English"

printf 'Something else\t3 Eski, kitap!\n' | gzip >held_out.tsv.gz
pairs json held_out.tsv.gz
no_row "old books"
lines_are rows 1

# A long row becomes as many as it has sentences, if both sides have equally many.
python3 - <<'END'
import json
for language, sentence in ("en", "The river runs past the mill %d."), ("tr", "Nehir değirmenin yanından akar %d."):
    json.dump({"x": " ".join(sentence % i for i in range(20))}, open(f"files/a/translations/{language}.json", "w"))
END
pairs json
lines_are rows 20
row "The river runs past the mill 7." "Nehir değirmenin yanından akar 7."

# Catalogs: the English is the key; context, plurals, marks of access keys.
rm -r files && mkdir -p files/locale/tr_TR/LC_MESSAGES
python3 - <<'END'
import struct
texts = {"": "Language: tr\n", "menu\4Save _File": "Dosyayı _Kaydet", "sw|Blue ~paper": "Mavi ~kâğıt", "%d lamp\0%d lamps": "%d lamba\0%d lambalar",
         "Two lines\nof text": "İki satır\nmetin", "set_my_name now": "set_my_name şimdi"}
keys, values = (b"".join(t.encode() + b"\0" for t in part) for part in (texts, texts.values()))
def table(part, at):
    out = b""
    for t in part:
        out += struct.pack("<2I", len(t.encode()), at)
        at += len(t.encode()) + 1
    return out
n, at = len(texts), 28 + 16 * len(texts)
open("files/locale/tr_TR/LC_MESSAGES/a.mo", "wb").write(struct.pack("<7I", 0x950412DE, 0, n, 28, 28 + 8 * n, 0, 0)
    + table(texts, at) + table(texts.values(), at + len(keys)) + keys + values)
END
pairs mo
row "Save File" "Dosyayı Kaydet"
row "Blue paper" "Mavi kâğıt"
row "3 lamps" "3 lambalar"
row "Two lines of text" "İki satır metin"
row "set_my_name now" "set_my_name şimdi"
cp files/locale/tr_TR/LC_MESSAGES/a.mo .

# Help: the same id, and of text for several systems the usual one.
rm -r files && mkdir -p files/help/en-US/text files/help/tr/text
echo '<h1 id="hd_1">The garden gate</h1><p id="par_2" class="p">Choose <span class="switchinline"><span hidden="true" id="MACx"><span
class="emph">Apples</span></span><span hidden="true" id="defaultx"><span class="emph">Pears</span></span></span> &amp; plums.</p>' >files/help/en-US/text/a.html
echo '<p id="par_2" class="p">Erik ve <span class="emph">armut</span> seç.</p><h1 id="hd_1">Bahçe kapısı</h1>' >files/help/tr/text/a.html
pairs html
row "The garden gate" "Bahçe kapısı"
row "Choose Pears & plums." "Erik ve armut seç."

# A book: the same place, in a page with equally many paragraphs.
echo '<div class="para">The first page.</div><div class="para"> The second
page.</div>' >files/help/en-US/text/a.html
echo '<div class="para">Birinci sayfa.</div><div class="para">İkinci sayfa.</div>' >files/help/tr/text/a.html
cp files/help/en-US/text/a.html files/help/en-US/text/b.html
echo '<div class="para">Başka bir sayfa.</div>' >files/help/tr/text/b.html
pairs html
lines_are rows 2
row "The second page." "İkinci sayfa."

# Mallard: under CC BY-SA alone.
rm -r files && mkdir -p files/help/C/x files/help/tr/x
mallard() { # FILE LICENSE TITLE TEXT
  echo "<page xmlns='http://projectmallard.org/1.0/'><info><license href='$2'><p>Any use is free.</p></license><desc>$3</desc></info>
<title>$3</title><p>$4 <gui>X</gui></p></page>" >"$1"
}
by_sa=http://creativecommons.org/licenses/by-sa/3.0/
mallard files/help/C/x/a.page $by_sa "Change the picture" "Press the button."
mallard files/help/tr/x/a.page $by_sa "Resmi değiştirin" "Düğmeye basın."
mallard files/help/C/x/b.page http://example.org/gfdl "Other pictures" "Press it again."
mallard files/help/tr/x/b.page http://example.org/gfdl "Diğer resimler" "Yine basın."
pairs mallard
row "Change the picture" "Resmi değiştirin"
row "Press the button. X" "Düğmeye basın. X"
lines_are rows 2

# Language packs and Chromium's strings.
rm -r files && mkdir -p files/locales
python3 - <<'END'
import struct, zipfile
def pack(language, fluent, properties):
    with zipfile.ZipFile(f"files/langpack-{language}@x.xpi", "w") as z:
        z.writestr(f"localization/{language}/a.ftl", fluent)
        z.writestr(f"chrome/{language}/locale/a.properties", properties)
pack("en-GB", "# A comment\nhello = The { -brand-short-name } window\n    .title = A second line\n        of the title\n    .accesskey = W\n"
     "books = { $count ->\n    [one] { $count } green book\n   *[other] { $count } green books\n  }\n", "quit.label=Quit %S now\n")
pack("tr", "hello = { -brand-short-name } penceresi\n    .title = Başlığın ikinci\n        satırı\n    .accesskey = P\n"
     "books = { $count ->\n    [one] { $count } yeşil kitap\n   *[other] { $count } yeşil kitap\n  }\n", "quit.label=%S uygulamasından çık\n")
def pak(language, texts):
    at, index, data = 12 + 6 * (len(texts) + 1), b"", b""
    for key, text in list(texts.items()) + [(0, "")]:
        index += struct.pack("<HI", key, at + len(data))
        data += text.encode()
    open(f"files/locales/{language}.pak", "wb").write(struct.pack("<IBxxxHH", 5, 1, len(texts), 0) + index + data)
pak("en-GB", {3: "Close the &window", 4: "Not there at all"})
pak("tr", {3: "&Pencereyi kapat"})
END
pairs pak
row "Close the window" "Pencereyi kapat"
lines_are rows 1
pairs xpi
row "The Firefox window" "Firefox penceresi"
row "A second line of the title" "Başlığın ikinci satırı"
row "3 green books" "3 yeşil kitap"
lines_are rows 4

# CLDR: names with their keywords, and what languages are called.
rm -r files && mkdir -p files/common/annotations
names() { # LANGUAGE NAME KEYWORDS TERRITORY
  echo "<ldml><territories><territory type='DE'>$4</territory></territories><annotations><annotation cp='o'>$3</annotation>
<annotation cp='o' type='tts'>$2</annotation></annotations></ldml>" >"files/common/annotations/$1.xml"
}
names en tangerine "fruit | orange | tangerine" Germany
names tr mandalina "meyve | mandalina" Almanya
pairs cldr
row "tangerine: fruit, orange" "mandalina: meyve"
lines_are rows 1 # the other is short

# Descriptions of packages: title by title, and paragraph by paragraph where equally many are translated.
rm -r files && mkdir files
description() { # LANGUAGE PACKAGE MD5 LINE...
  printf 'Package: %s\nDescription-md5: %s\nDescription-%s: %s\n' "$2" "$3" "$1" "$4"
  shift 4
  for line in "$@"; do echo " $line"; done
  echo
}
{
  description en ship 1f "Game with ships" "You steer a ship through the islands" "and look for treasure." . "Levels are drawn anew."
  description en map 2f "Program that draws maps" "It draws maps of the sea." . "It prints them, too."
} >files/debian_dists_main_i18n_Translation-en
{
  description tr ship 1f "Gemili oyun" "Adaların arasından bir gemiyi yönetir" "ve hazine ararsınız." . "Bölümler yeniden çizilir."
  description tr map 2f "Harita çizen program" "Denizin haritasını çizer ve yazdırır."
  description tr lost 3f "Kaybolmuş bir paket" "Artık yok."
} >files/debian_dists_main_i18n_Translation-tr
pairs apt
row "Game with ships" "Gemili oyun"
row "You steer a ship through the islands and look for treasure." "Adaların arasından bir gemiyi yönetir ve hazine ararsınız."
row "Levels are drawn anew." "Bölümler yeniden çizilir."
row "Program that draws maps" "Harita çizen program"
lines_are rows 4 # the other one has a paragraph less

# All sources have a format that text-pairs knows.
{ bash "$SOURCE/scripts/fetch-text" --list && bash "$SOURCE/scripts/fetch-text" --copyleft --list; } >list
while read -r _ format _; do
  grep -q "^    \"$format\": (" "$SOURCE/scripts/text-pairs" || fail "no format $format"
done <list
! bash "$SOURCE/scripts/fetch-text" 2>stderr || fail "expected to fail"
stderr_has "scripts/fetch-text [--copyleft] [--sources NAME,...] WORK [LANGUAGE...]"

# An archive of two sources. libreoffice-l10n-tr breaks off while it is fetched, then while it is unpacked.
mkdir bin
cat >bin/apt-cache <<'END'
case $1 in
pkgnames) printf 'libreoffice-l10n-%s\n' tr de en-gb ;;
show) shift 2 && for name in "$@"; do printf 'Package: %s\nSize: 1200000\n\n' "$name"; done ;;
esac
END
cat >bin/apt-get <<'END'
shift 2
echo "$*" >>"$LOG"
for name in "$@"; do
  file=${name}_1%3a2.0-1_all.deb
  if [ "$name" = libreoffice-l10n-tr ] && [ ! -e "$file" ]; then head -c 700000 /dev/zero >"$file" && exit 9; fi
  echo "$name" >"$file"
done
END
cat >bin/dpkg-deb <<'END'
package=$(cat "$2") language=de
case $package in libreoffice-*) language=${package##*-l10n-} ;; esac
[ "$package" != libreoffice-l10n-tr ] || [ -e "$LOG.broken" ] || { touch "$LOG.broken" && exit 9; }
mkdir -p "$3/locale/$language/LC_MESSAGES" "$3/usr/share/doc/$package"
cp "$CATALOG" "$3/locale/$language/LC_MESSAGES/$package.mo"
printf 'Files: debian/*\nLicense: other\n\nFiles: *\nLicense: GPL-2+\n' >"$3/usr/share/doc/$package/copyright"
END
sed -i '1i #!/usr/bin/env bash' bin/*
chmod +x bin/*
fetch_text() { # EXIT ARGUMENT...
  last="fetch-text ${*:2}"
  LOG=$tmp/log CATALOG=$tmp/a.mo PATH=$tmp/bin:$PATH bash "$SOURCE/scripts/fetch-text" "${@:2}" >stdout 2>stderr
  local got=$?
  [ "$got" -eq "$1" ] || fail "exit code $got, expected $1"
}
fetch_text 2 --sources nowhere work
stderr_has "no source 'nowhere'"
fetch_text 2 work nowhere
stderr_has "'nowhere' is no language's code"
fetch_text 9 --sources libreoffice work tr
stdout_has "libreoffice: packages to fetch: 2, MB: 3"
fetch_text 9 --sources libreoffice work tr # what has arrived is not counted again
stdout_has "in all, MB: 2"
fetch_text 0 --sources libreoffice work tr
stdout_has "packages to fetch: 1, MB: 2"
stdout_has "libreoffice: 5 pairs (messages) tr 5"
fetch_text 0 --sources libreoffice work tr
stdout_has "in all, MB: 0"
fetch_text 0 --sources libreoffice work
stdout_has "libreoffice: 10 pairs (messages) de 5 tr 5"
stdout_has "de	5	0	0	5"
fetch_text 0 --copyleft --sources iso-codes work de
cat >wanted <<'END'
libreoffice-l10n-en-gb libreoffice-l10n-tr
libreoffice-l10n-en-gb libreoffice-l10n-tr
libreoffice-l10n-tr
libreoffice-l10n-de
iso-codes
END
diff log wanted >stderr || fail "other packages were fetched"
cat >wanted <<'END'
file	language	kind	rows	license	source
iso-codes/en-de.tsv.gz	de	messages	5	GPL-2+	iso-codes
libreoffice/en-de.tsv.gz	de	messages	5	MPL-2.0	libreoffice
libreoffice/en-tr.tsv.gz	tr	messages	5	MPL-2.0	libreoffice
END
diff work/text/FILES.tsv wanted >stderr || fail "another manifest"
grep -qx "libreoffice	libreoffice-l10n-en-gb libreoffice-l10n-tr libreoffice-l10n-de	1:2.0-1	MPL-2.0	2	10" \
  work/text/SOURCES.tsv || fail "other sources: $(cat work/text/SOURCES.tsv)"

finish
