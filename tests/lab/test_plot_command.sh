# calque plot: learning curves of one run and of several, and what is refused.
. "$(dirname "$0")/../cli/common.sh"

has() { # FILE N TEXT: so many times
  local n
  n=$(grep -oF -- "$3" "$1" | wc -l)
  [ "$n" -eq "$2" ] || fail "$1 has '$3' $n times, expected $2"
}
is_svg() {
  head -c 60 "$1" | grep -qF '<svg xmlns="http://www.w3.org/2000/svg"' || fail "$1 is no SVG"
  [ "$(tail -n 1 "$1")" = "</svg>" ] || fail "$1 breaks off"
  ! grep -Eq '[ "](nan|-nan|inf|-inf)' "$1" || fail "$1 has a number that is none"
}

# A run of the program itself.
for language in de ru; do gzip -dc "$SOURCE/sample/dev/en-$language.tsv.gz" | head -n 30 >"en-$language.tsv"; done
awk -F '\t' -v OFS='\t' '{ print $1, $2, NR }' en-de.tsv >sts.tsv
expect 0 distill --teacher "$TEACHER" --student "$TEACHER" --train en-de.tsv --dev de=en-de.tsv --dev ru=en-ru.tsv \
  --sts sts.tsv --steps 6 --evaluate-every 3 --batch 8 --lr 1e-4 --output model
expect 0 plot model -o curve.svg
stdout_is_empty
is_svg curve.svg
for text in '>model</text>' '>accuracy on dev, %</text>' '>Spearman x100 on dev</text>' '>MSE x100 on dev</text>' '>step</text>'; do
  has curve.svg 1 "$text"
done
has curve.svg 2 '>ru</text>' # accuracy, MSE
has curve.svg 2 '>mean of dev sets</text>'
has curve.svg $((2 * 3 * (3 + 1) + 3 + 1)) '<circle' # at steps 0, 3 and 6, and in the legend
expect 0 plot model/
same stdout curve.svg
expect 0 plot model=model/log.jsonl
same stdout curve.svg
expect 0 plot model --smooth 4
stdout_has '>step (losses: means of 4)</text>'

# Several runs: the means.
sed 's/"loss":/"kind":"pairs",&/; n; s/"loss":/"kind":"scores",&/' model/log.jsonl >kinds.jsonl
expect 0 plot first=model second=kinds.jsonl -o both.svg
is_svg both.svg
for text in '>second: pairs</text>' '>second: scores</text>'; do has both.svg 1 "$text"; done
has both.svg 4 '>first</text>'
has both.svg 3 '>second</text>'
has both.svg 0 '>ru</text>'
has both.svg $((2 * 3 * (3 + 1))) '<circle'

# More dev sets than colors: their mean.
{
  printf '{"type":"evaluate","step":0,"figures":{"sts":[],"mean_translation":0.5,"mean_mse":1,"mean_sts":null,"parallel":['
  for i in 1 2 3 4 5 6 7 8 9; do
    printf '%s{"label":"set%s","source_to_target":0.5,"target_to_source":0.5,"mse_target":1}' "${comma-}" "$i"
    comma=,
  done
  echo ']}}'
} >many.jsonl
expect 0 plot many.jsonl -o many.svg
is_svg many.svg
has many.svg 2 '>mean of dev sets</text>'
has many.svg 0 '>set1</text>'
sed 's/"mean_translation":0.5,"mean_mse":1/"mean_translation":null,"mean_mse":null/' many.jsonl >none.jsonl
expect 1 plot none.jsonl
stderr_has "the logs have nothing to draw"

# A reranker's correlations with its teacher, and one step, which is a dot.
sed 's/"mean_translation"/"reranker":true,&/' model/log.jsonl | head -n 2 >reranker.jsonl
expect 0 plot reranker.jsonl -o reranker.svg
has reranker.svg 1 '>Spearman x100 with teacher</text>'
has reranker.svg 0 '>accuracy on dev, %</text>'
has reranker.svg $((2 * (2 * 3 + 1 + 1))) '<circle' # and in the legend
has reranker.svg 4 '>1</text>' # the steps are whole numbers

# Autoencoders: what 'autoencode plot losses' draws.
{
  echo '{"type":"run","languages":["xx","yy"]}'
  for i in 1 2 3; do
    echo '{"type":"step","stage":"together","nll":{"xx":8,"yy":9},"contrast":4,"distance":1,"gradient_norm":1}'
  done
} >autoencoders.jsonl
expect 0 autoencode plot losses autoencoders.jsonl -o losses.svg
expect 0 plot autoencoders.jsonl -o curve.svg
same losses.svg curve.svg
stderr_has "autoencoders.jsonl: 3 steps"
expect 1 plot model autoencoders.jsonl
stderr_has "runs of autoencoders are drawn one at a time"

expect 2 plot
expect 2 plot model model model model model model model model model
expect 2 plot model --smooth 0
expect 1 plot model -o curve.PNG
stderr_has "curve.PNG: figures are written as SVG; name it .svg"
absent curve.PNG
expect 1 plot nowhere -o none.svg
stderr_has nowhere
absent none.svg
mkdir bare
expect 1 plot bare
stderr_has bare/log.jsonl
echo '{"type":"step","step":1}' >bad.jsonl
echo '{"type":"step","step":1}' >>bad.jsonl
expect 1 plot bad.jsonl
stderr_has "bad.jsonl:1: "
stderr_has "is this the log of a training run?"
: >empty.jsonl
expect 1 plot empty.jsonl
stderr_has "empty.jsonl: no step is logged in it"
finish
