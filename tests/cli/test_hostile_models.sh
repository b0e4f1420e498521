# Models whose configuration has been tampered with: every key in turn is null, of another type, negative, huge. The program
# encodes or refuses; it does not crash, hang or print a vector that is no number.
. "$(dirname "$0")/common.sh"

printf 'A sentence.\n' >text.txt
n=0
for name in bert-uncased distilbert-dense mpnet-mean bilstm-deep; do
  rm -rf model
  cp -r "$SOURCE/tests/golden/models/$name" model
  chmod -R u+w model
  while IFS= read -r file; do
    cp "$file" whole.json
    for key in $(grep -o '^ *"[A-Za-z_]*":' whole.json | tr -d ' ":' | sort -u); do
      for value in null "[]" "{}" true -1 0 1e30 2147483648; do
        sed -E "s/^( *\"$key\": )[^][{},]+(,?)$/\1$value\2/" whole.json >"$file"
        cmp -s whole.json "$file" && continue
        last="encode with $key: $value in $name/${file#model/}"
        timeout 20 "$PROGRAM" encode --model model text.txt >stdout 2>stderr
        code=$?
        [ "$code" -le 1 ] || fail "exit code $code"
        [ "$code" -eq 1 ] || ! grep -qi '[^a-z"]nan\|inf[^a-z]' stdout || fail "a vector that is not finite"
        n=$((n + 1))
      done
    done
    cp whole.json "$file"
  done < <(find model -name '*.json' ! -name 'tokenizer*.json' ! -name 'vocab.json' ! -name 'special_tokens_map.json' -type f)
done
[ "$n" -gt 300 ] || fail "only $n changes were tried"
finish
