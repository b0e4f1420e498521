# calque autoencode plot: space, losses.
. "$(dirname "$0")/../cli/common.sh"

# is_svg FILE: well-formed, where something can tell; no number that is none.
command -v xmllint >/dev/null || echo "no xmllint: whether SVG is well-formed is left to the library's tests"
is_svg() {
  head -c 60 "$1" | grep -qF '<svg xmlns="http://www.w3.org/2000/svg"' || fail "$1 is no SVG"
  [ "$(tail -n 1 "$1")" = "</svg>" ] || fail "$1 breaks off"
  if command -v xmllint >/dev/null; then xmllint --noout "$1" 2>"$tmp/lint" || fail "$1: $(head -n 1 "$tmp/lint")"; fi
  ! grep -Eq '[ "](nan|-nan|inf|-inf)' "$1" || fail "$1 has a number that is none"
}
# has FILE N TEXT: so many times.
has() {
  local n
  n=$(grep -oF -- "$3" "$1" | wc -l)
  [ "$n" -eq "$2" ] || fail "$1 has '$3' $n times, expected $2"
}

awk 'BEGIN {
  x = 1
  n = split("the cat dog sees hears likes red old small house", a)
  split("lo gato can vido sento amo roso veco picol casa", b)
  for (i = 0; i < 60; i++) {
    s = t = ""
    for (k = 0; k < 4; k++) {
      x = x * 16807 % 2147483647; w = int(x / 7) % n + 1
      s = s (k ? " " : "") a[w]; t = t (k ? " " : "") b[w]
    }
    print s "\t" t
  }
}' >pairs.tsv
expect 0 autoencode train model pairs.tsv --languages xx,yy --vocab-size 30 --embedding 24 --hidden 32 --latent 24 \
  --batch 16 --lr 1e-2 --encoder-epochs 4 --decoder-epochs 3 --dev pairs.tsv --threads 1

# The space: a point for each sentence and one in the legend.
expect 0 autoencode plot space --model model -o pca.svg pairs.tsv
stdout_is_empty
is_svg pca.svg
has pca.svg $((60 + 60 + 2)) '<circle'
has pca.svg 1 '>60 pairs of xx and yy, by principal components</text>'
has pca.svg 1 '>first principal component, '
has pca.svg 2 '% of the variance</text>'
has pca.svg 0 'translations'
expect_from pairs.tsv 0 autoencode plot space --model model --threads 2
same stdout pca.svg
expect 0 autoencode plot space --model model --languages yy,xx -o turned.svg pairs.tsv
has turned.svg 1 'of yy and xx'

expect 0 autoencode plot space --model model --by tsne --join --iterations 300 -o tsne.svg pairs.tsv
stderr_has "divergence"
stderr_has "after 300 iterations"
is_svg tsne.svg
has tsne.svg $((60 + 60 + 2)) '<circle'
has tsne.svg 1 'by t-SNE of perplexity 30<'
has tsne.svg 1 '>translations</text>'
expect 0 autoencode plot space --model model --by tsne --join --iterations 300 --threads 2 -o again.svg pairs.tsv
same again.svg tsne.svg
for other in "--iterations 300 --perplexity 10" "--iterations 300 --seed 2" "--iterations 299"; do
  expect 0 autoencode plot space --model model --by tsne --join $other -o again.svg pairs.tsv
  cmp -s again.svg tsne.svg && fail "$other changes nothing"
done

# Some of many, by the seed; the perplexity follows where it was not given.
expect 0 autoencode plot space --model model --sentences 10 -o some.svg pairs.tsv
has some.svg $((10 + 10 + 2)) '<circle'
expect 0 autoencode plot space --model model --sentences 10 -o again.svg pairs.tsv
same again.svg some.svg
expect 0 autoencode plot space --model model --sentences 10 --seed 2 -o again.svg pairs.tsv
cmp -s again.svg some.svg && fail "--seed 2 takes the same pairs"
expect 0 autoencode plot space --model model --by tsne --sentences 11 -o some.svg pairs.tsv
has some.svg 1 'perplexity 7<'
head -n 2 pairs.tsv >two.tsv
expect 0 autoencode plot space --model model -o two.svg two.tsv
has two.svg $((2 + 2 + 2)) '<circle'
expect 0 autoencode plot space --model model --by tsne -o two.svg two.tsv
has two.svg $((2 + 2 + 2)) '<circle'

# The losses: of all stages, with their marks, and BLEU after each epoch.
expect 0 autoencode plot losses model -o losses.svg
stdout_is_empty
stderr_has "model/log.jsonl: 28 steps"
is_svg losses.svg
has losses.svg 1 '>Training of xx and yy</text>'
has losses.svg 1 '>xx</text>'
has losses.svg 1 '>contrast</text>'
has losses.svg 1 '>squared distance</text>'
has losses.svg 1 '>BLEU on dev</text>'
has losses.svg 1 '>xx-yy</text>'
has losses.svg 1 '>yy-xx</text>'
has losses.svg 1 '>encoders</text>'
has losses.svg 1 '>decoders</text>'
has losses.svg $((2 * 3 + 2)) '<circle'
has losses.svg 1 '>step</text>'
expect 0 autoencode plot losses model/log.jsonl
same stdout losses.svg
expect 0 autoencode plot losses model --smooth 5 -o smooth.svg
is_svg smooth.svg
has smooth.svg 1 '>step (losses: means of 5)</text>'
# Without decoders there is no log probability yet, and no BLEU; the log breaks off.
sed -n '1,5p' model/log.jsonl >short.jsonl
printf '{"type":"step","stage":"encod' >>short.jsonl
expect 0 autoencode plot losses short.jsonl -o short.svg
stderr_has "4 steps"
is_svg short.svg
has short.svg 1 '>Training of xx and yy</text>'
has short.svg 0 'log p'
has short.svg 0 'BLEU'
has short.svg 1 '>contrast</text>'

# More languages: a line each, of the steps that they had a part in; text of one language aligns nothing.
step() { printf '{"type":"step","stage":"together","nll":{%s},"contrast":%s,"distance":%s,"gradient_norm":1}\n' "$@"; }
text() { printf '{"type":"step","stage":"together","nll":{%s},"gradient_norm":1}\n' "$1"; }
{
  echo '{"type":"run","languages":["xx","yy","zz"]}'
  step '"xx":8,"yy":9' 4 1
  text '"zz":5'
  step '"xx":6,"zz":7' 2 1
  text '"xx":2'
  echo '{"type":"dev","ways":{"xx-zz":{"bleu":1,"chrf":2,"meteor":3},"yy-zz":{"bleu":2,"chrf":2,"meteor":3}}}'
  text '"yy":5'
} >three.jsonl
expect 0 autoencode plot losses three.jsonl --smooth 2 -o three.svg
is_svg three.svg
has three.svg 1 '>Training of xx, yy and zz</text>'
for name in xx yy zz contrast xx-zz yy-zz; do has three.svg 1 ">$name</text>"; done
has three.svg $((2 * (1 + 1))) '<circle'
# Steps 0 to 5 lie at 68 to 616. xx: the mean of steps 1 and 3, then step 4; yy: of 1 and 5; zz: of 2 and 3.
paths() { grep -o 'stroke-linejoin="round" d="[^"]*' "$1" | sed 's/.*d="//'; }
paths three.svg >paths.txt
[ "$(awk '{ n = split($0, a, /[ML]/) - 1; printf "%d ", n }' paths.txt)" = "2 1 1 1 1 1 1 " ] ||
  fail "lines of other points: $(cat paths.txt)"
[ "$(awk '{ print substr($1, 2) }' paths.txt | head -n 5 | tr '\n' ' ')" = "287.2 396.8 342.0 287.2 287.2 " ] ||
  fail "points at other steps: $(cat paths.txt)"

# A teacher and a discriminator, where they had a part.
has three.svg 0 '>from the teacher</text>'
has three.svg 0 '>discriminator</text>'
sed 's/"gradient_norm"/"distillation":0.5,"discriminator":0.75,&/' three.jsonl >taught.jsonl
expect 0 autoencode plot losses taught.jsonl -o taught.svg
is_svg taught.svg
has taught.svg 1 '>from the teacher</text>'
has taught.svg 1 '>discriminator</text>'
has taught.svg 1 '>languages identified from vectors, share</text>'

# What is refused, and leaves nothing behind.
expect 2 autoencode plot
stderr_has "needs a command"
expect 2 autoencode plot space pairs.tsv
stderr_has "--model"
expect 2 autoencode plot losses
expect 2 autoencode plot space --model model --by umap pairs.tsv
stderr_has "umap"
expect 2 autoencode plot space --model model --perplexity 5 pairs.tsv
stderr_has "--by tsne"
expect 2 autoencode plot space --model model --languages xx pairs.tsv
stderr_has "expected two codes"
expect 2 autoencode plot losses model --languages xx,yy
stderr_has "--languages"
expect 2 autoencode plot space --model model --sentences 1 pairs.tsv
expect 2 autoencode plot space --model model --by tsne --sentences 2501 pairs.tsv
stderr_has "takes 2500 pairs at most"
refused() {
  local word=$1
  shift
  expect 1 autoencode plot "$@" -o none.svg
  stdout_is_empty
  stderr_has "$word"
  absent none.svg
}
refused "'zz'" space --model model --languages xx,zz pairs.tsv
refused nowhere space --model nowhere pairs.tsv
refused nowhere.tsv space --model model nowhere.tsv
refused "less than 119" space --model model --by tsne --perplexity 119 pairs.tsv
expect 2 autoencode plot space --model model --by tsne --perplexity 1 pairs.tsv
stderr_has "--perplexity is 1, expected more than 1"
head -n 1 pairs.tsv >one.tsv
refused "2 vectors to project, expected at least 3" space --model model one.tsv
refused "2 vectors to project, expected at least 3" space --model model --by tsne one.tsv
: >empty.tsv
refused empty.tsv space --model model empty.tsv
cut -f 1 pairs.tsv >xx.txt
refused "xx.txt:1" space --model model xx.txt
printf 'the cat\tlo gato\nthe \xff\tlo can\n' >bytes.tsv
refused "bytes.tsv:2" space --model model bytes.tsv
expect 0 autoencode plot space --model model --skip-bad -o skipped.svg bytes.tsv pairs.tsv
stderr_has "1 malformed lines were skipped"
has skipped.svg 1 '61 pairs'
refused "no pair is left, 60 lines were skipped" space --model model --skip-bad xx.txt
refused nowhere losses nowhere
mkdir bare
refused bare/log.jsonl losses bare
refused "short.jsonl" losses model/short.jsonl
printf '{"type":"step","loss":1}\n{"type":"step","loss":1}\n' >other.jsonl
refused "other.jsonl:1" losses other.jsonl
sed 1d three.jsonl >other.jsonl
refused "other.jsonl:1: a step before the run" losses other.jsonl
refused "empty.tsv" losses empty.tsv
expect 1 autoencode plot losses model -o nowhere/losses.svg
stderr_has nowhere/losses.svg
finish
