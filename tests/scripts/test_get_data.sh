# scripts/get-data with a curl of our own: what is fetched, checked, unpacked, refused; and what to do without a network.
. "$(dirname "$0")/../cli/common.sh"

mkdir bin served
cat >bin/curl <<'END'
#!/bin/sh
# curl ... -o FILE ADDRESS: gives served/NAME of the address's last part.
while [ $# -gt 1 ]; do [ "$1" = -o ] && file=$2; shift; done
echo "$1" >>asked
[ -e "served/$(basename "$1")" ] || { echo "curl: (6) Could not resolve host" >&2; exit 6; }
cp "served/$(basename "$1")" "$file"
END
chmod +x bin/curl
gets() { # EXIT ARGUMENTS...
  local wanted=$1 got
  shift
  last="get-data $*"
  : >asked
  PATH=$PWD/bin:$PATH bash "$SOURCE/scripts/get-data" "$@" >stdout 2>stderr
  got=$?
  [ "$got" -eq "$wanted" ] || fail "exit code $got, expected $wanted"
}

gets 2
stderr_has "scripts/get-data DIR NAME"
gets 0 --list
for name in ted2020 opus europarl tatoeba wikimatrix wikititles muse xquad wmt14 sts2017 sts2017-extended stsb korsts allnli \
  bucc jw300 fire; do
  stdout_has "$name "
done

# Without a network: where to put the file, which is then taken as it is.
gets 1 data muse en-fr
stderr_has "put it at data/en-fr.txt by other means"
absent data/en-fr.txt
printf 'cat chat\n' >data/en-fr.txt
gets 0 data muse en-fr
stdout_has "calque data convert --from muse data/en-fr.txt"
lines_are asked 0
lines_are data/SHA256SUMS 1
gets 0 data muse en-fr
lines_are data/SHA256SUMS 1
printf 'cat chat noir\n' >data/en-fr.txt
gets 1 data muse en-fr
stderr_has "is not what it was"

# What is fetched must be what it should be.
echo "<!DOCTYPE html><html>not found</html>" >served/de-en.txt
gets 1 data muse de-en
stderr_has "is no sound text file"
absent data/de-en.txt
cp served/de-en.txt served/ted2020.tsv.gz
gets 1 data ted2020
stderr_has "is no sound gzip file"
absent data/ted2020.tsv.gz
printf 'en\tde\nyes\tja\n' | gzip >served/ted2020.tsv.gz
gets 0 data ted2020
expect 0 data convert --from ted2020 --columns en,de data/ted2020.tsv.gz
stdout_has "yes	ja"

# What is packed is unpacked.
if command -v bzip2 >/dev/null; then
  printf '1\teng\tA house.\n' | bzip2 >served/eng_sentences.tsv.bz2
  printf '2\tdeu\tEin Haus.\n' | bzip2 >served/deu_sentences.tsv.bz2
  printf '1\t2\n' | bzip2 >served/eng-deu_links.tsv.bz2
  gets 0 data tatoeba eng deu
  lines_are asked 3
  expect 0 data convert --from tatoeba --columns eng,deu data/eng-deu_links.tsv data/eng_sentences.tsv data/deu_sentences.tsv
  stdout_has "A house.	Ein Haus."
fi
mkdir pack && echo "The sitting is open." >pack/europarl-v7.de-en.en && tar -czf served/de-en.tgz -C pack europarl-v7.de-en.en
gets 0 data europarl de-en
same data/europarl-v7.de-en.en pack/europarl-v7.de-en.en

# What cannot be had, and what is not known.
gets 1 data jw300
stderr_has "withdrawn"
gets 1 data fire
stderr_has "by agreement"
gets 2 data parchment
stderr_has "no corpus 'parchment'"
gets 2 data tatoeba eng
stderr_has "expected scripts/get-data DIR tatoeba A B"

finish
