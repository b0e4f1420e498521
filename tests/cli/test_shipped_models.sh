# The models that calque ships: their names, and what is said when one is missing or damaged.
. "$(dirname "$0")/common.sh"

SMALL=$SOURCE/models/calque-small
STATIC=$SOURCE/tests/golden/models/static-mean
printf 'A dog.\n' >dog.txt
mkdir models docs
cp dog.txt docs/
ln -s "$SMALL" models/calque-small
ln -s "$TEACHER" models/calque-base
export CALQUE_MODELS=$tmp/models HOME=$tmp

# same_vectors MODEL DIRECTORY
same_vectors() {
  expect 0 encode --model "$2" dog.txt
  cp "$tmp/stdout" wanted.json
  expect 0 encode --model "$1" dog.txt
  same "$tmp/stdout" wanted.json
}

# small and base are names, before the cache and after a directory. A file of that name is none.
touch base
same_vectors small "$SMALL"
same_vectors calque-small "$SMALL"
same_vectors base "$TEACHER"
same_vectors calque-base "$TEACHER"
expect 0 index new --model base base.index
expect 0 index info base.index
stdout_has "calque-base"
ln -s "$STATIC" small
same_vectors small "$STATIC"
same_vectors calque-small "$SMALL"
rm small base

# not_installed NAME ARGUMENT...: the error says which model, where it was looked for, and the remedy.
not_installed() {
  local name=$1
  shift
  expect 1 "$@"
  stdout_is_empty
  stderr_has "$name: this model, which calque ships, is not installed"
  stderr_has "$CALQUE_MODELS (CALQUE_MODELS)"
  stderr_has "choose another model (--model)"
  grep -qi "hugging" "$tmp/stderr" && fail "the error speaks of the hub"
}
export CALQUE_MODELS=$tmp/nowhere
not_installed calque-base encode dog.txt
not_installed calque-small encode --model small dog.txt
not_installed calque-base encode --model base dog.txt
not_installed calque-base search docs dog
not_installed calque-base serve docs
not_installed calque-base serve
not_installed calque-base index new --model base new.index
not_installed calque-base search base.index dog
[ ! -e docs/.calque ] && [ ! -e new.index ] || fail "an index was made without a model"
expect 1 encode --model basic dog.txt
stderr_has "calque model get basic"

# Every file of each model in turn is missing, empty, truncated, or garbage: an error that names it, or the same vector.
head -c 300 /dev/urandom | tr -d '{}[]"' >garbage
export CALQUE_MODELS=$tmp/damaged
mkdir damaged
cp -rL "$SMALL" "$SOURCE/models/calque-base" damaged/
chmod -R u+w damaged
n=0
for model in small base; do
  expect 0 encode --model $model dog.txt
  cp "$tmp/stdout" wanted.json
  while IFS= read -r file; do
    mv "$file" whole
    size=$(wc -c <whole)
    for damage in missing empty truncated garbage; do
      rm -f "$file"
      case $damage in
      empty) : >"$file" ;;
      truncated) head -c $((size / 2)) whole >"$file" ;;
      garbage) cp garbage "$file" ;;
      esac
      "$PROGRAM" encode --model $model dog.txt >same.json 2>same.txt && { same same.json wanted.json; continue; }
      for command in "encode --model $model dog.txt" "search --model $model docs dog" "serve --model $model docs"; do
        expect 1 $command
        stderr_has "$CALQUE_MODELS/calque-$model"
        stderr_has "the installed model calque-$model is damaged: reinstall calque, or choose another model (--model)"
        n=$((n + 1))
      done
      [ ! -e docs/.calque ] || fail "an index was made with a damaged model"
    done
    mv whole "$file"
  done < <(find damaged/calque-$model -type f ! -name 'README.md' ! -name 'LICENSE*')
done
[ "$n" -ge 120 ] || fail "only $n damages were refused"
rm -r damaged/calque-small/0_StaticEmbedding
expect 1 encode --model small dog.txt
stderr_has "the installed model calque-small is damaged"

# An option's own error is not the model's.
export CALQUE_MODELS=$tmp/models
expect 1 encode --task none dog.txt
stderr_has "the task is 'none'"
grep -q "damaged" "$tmp/stderr" && fail "the model is called damaged"
finish
