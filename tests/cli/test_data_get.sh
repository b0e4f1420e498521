# calque data get: data sets of a small imitation of the hub, their configs and splits, what is refused.
. "$(dirname "$0")/common.sh"
imitation=$(dirname "$PROGRAM")/tests/hub_imitation
plugin=$(dirname "$PROGRAM")/src/libcalque_curl.so
[ -x "$imitation" ] && [ -e "$plugin" ] || { echo "skipped: no imitation of the hub, or no plugin for libcurl, beside the program"; exit 0; }
parquet=$SOURCE/tests/golden/parquet

# serve DIRECTORY: the hub that calque asks from now on
serve() {
  exec 9>&- 2>/dev/null
  mkfifo line.$1
  "$imitation" datasets org/pairs "$1" <line.$1 >endpoint.$1 &
  exec 9>line.$1
  for _ in $(seq 100); do [ -s endpoint.$1 ] && break; sleep 0.05; done
  export HF_ENDPOINT=$(cat endpoint.$1)
}
unset HF_TOKEN HF_HOME HF_HUB_OFFLINE http_proxy https_proxy all_proxy
export HOME=$tmp HF_HUB_CACHE=$tmp/cache

mkdir -p several/de-en several/fr-en several/data
cp $parquet/pairs.parquet several/de-en/train-00000-of-00002.parquet
cp $parquet/fallback.parquet several/de-en/train-00001-of-00002.parquet
cp $parquet/empty.parquet several/de-en/test-00000-of-00001.parquet
cp $parquet/scored.parquet several/fr-en/train-00000-of-00001.parquet
echo "# Pairs" >several/README.md
serve several
expect 0 data get org/pairs --config de-en --columns en,de -o de-en.tsv.gz
stderr_has "34 rows read, 34 written"
gzip -dc de-en.tsv.gz >rows
lines_are rows 34
[ "$(sed -n 2p rows)" = "The river is here.	river ist hier." ] || fail "the second row"
[ "$(sed -n 5p rows)" = "sentence 0	Satz 0" ] || fail "the second file's first row"
# Only what was wanted is there.
snapshot=$(echo cache/datasets--org--pairs/snapshots/*)
[ -e "$snapshot/de-en/train-00001-of-00002.parquet" ] || fail "the file is not in the cache"
[ ! -e "$snapshot/de-en/test-00000-of-00001.parquet" ] || fail "a file of another split was fetched"
[ ! -e "$snapshot/README.md" ] || fail "a file that is not needed was fetched"
expect 0 data get org/pairs --config fr-en
printf 'a cat\tone cat\t4.75\na dog\ta fish\t0.5\n' >expected
same expected stdout
expect 0 data get org/pairs --config de-en --split test -c en,de
stdout_is_empty
expect 1 data get org/pairs -o refused.tsv
stderr_has "org/pairs: which config? de-en, fr-en"
absent refused.tsv
expect 1 data get org/pairs --config it-en -o refused.tsv
stderr_has "org/pairs: no config 'it-en'; there are de-en, fr-en"
expect 1 data get org/pairs --config fr-en --split dev
stderr_has "no Parquet file of split 'dev'; the config has 1: fr-en/train-00000-of-00001.parquet"
expect 1 data get org/pairs --config fr-en --columns en,it
stderr_has "no column is called 'en'; there are idx, sentence1, sentence2, score"
expect 2 data get org/pairs --columns en
stderr_has "1 column, expected 2"
expect 1 data get org/nowhere --config de-en
stderr_has "org/nowhere"
expect 1 data get "a b"
stderr_has "is not a name on the hub"

# Without a network: what the cache has.
HF_HUB_OFFLINE=1 expect 0 data get org/pairs --config de-en --columns en,de
same rows stdout
HF_HUB_OFFLINE=1 expect 1 data get org/others
stderr_has "HF_HUB_OFFLINE is set"

# One config, the files in data/; a file that is none; no Parquet at all.
mkdir -p one/data none
cp $parquet/triplets.parquet one/data/train-00000-of-00001.parquet
head -c 300 $parquet/triplets.parquet >one/data/test-00000-of-00001.parquet
serve one
expect 0 data get org/pairs
printf 'a1\tp1\tn1\na2\tp2\tn2\n' >expected
same expected stdout
expect 1 data get org/pairs --split test -o refused.tsv
stderr_has "test-00000-of-00001.parquet: byte 296: truncated: no \"PAR1\" at the end"
absent refused.tsv
echo "# Empty" >none/README.md
serve none
expect 1 data get org/pairs
stderr_has "org/pairs: has no Parquet files"
exec 9>&-
wait

finish
