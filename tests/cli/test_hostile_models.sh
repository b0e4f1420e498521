# Models whose configuration has been tampered with: every key in turn is null, of another type, negative, huge. The program
# encodes or refuses; it does not crash, hang or print a vector that is no number.
. "$(dirname "$0")/common.sh"

printf 'A sentence.\n' >text.txt
# Every variant of a file with one key changed: key, value, contents, each ended by a zero byte.
variants() {
  awk 'BEGIN { n_values = split("null [] {} true -1 0 1e30 2147483648", values, " ") }
    { lines[NR] = $0 }
    match($0, /^ *"[A-Za-z_]*": [^][{},]+,?$/) {
      key = $0
      gsub(/^ *"|":.*/, "", key)
      if (!(key in seen)) keys[++n_keys] = key
      seen[key] = 1
      of[NR] = key
    }
    END {
      for (k = 1; k <= n_keys; k++)
        for (v = 1; v <= n_values; v++) {
          printf "%s%c%s%c", keys[k], 0, values[v], 0
          for (i = 1; i <= NR; i++) {
            line = lines[i]
            if (of[i] == keys[k]) line = substr(line, 1, index(line, "\": ") + 2) values[v] (line ~ /,$/ ? "," : "")
            printf "%s\n", line
          }
          printf "%c", 0
        }
    }' "$1"
}
# Under a sanitizer every third, of another value for each key.
every=1 seen=0 n=0
is_sanitized && every=3
for name in bert-uncased distilbert-dense mpnet-mean bilstm-deep electra; do
  rm -rf model
  cp -r "$SOURCE/tests/golden/models/$name" model
  chmod -R u+w model
  while IFS= read -r file; do
    whole=$(<"$file")
    while IFS= read -r -d '' key && IFS= read -r -d '' value && IFS= read -r -d '' changed; do
      [ "$((seen++ % every))" -eq 0 ] && [ "$changed" != "$whole"$'\n' ] || continue
      printf %s "$changed" >"$file"
      last="encode with $key: $value in $name/${file#model/}"
      timeout 20 "$PROGRAM" encode --model model text.txt >stdout 2>stderr
      code=$? vectors=$(<stdout)
      [ "$code" -le 1 ] || fail "exit code $code"
      [[ $code -eq 0 && ${vectors,,} =~ [^a-z\"]nan|inf[^a-z] ]] && fail "a vector that is not finite"
      n=$((n + 1))
    done < <(variants "$file")
    printf '%s\n' "$whole" >"$file"
  done < <(find model -name '*.json' ! -name 'tokenizer*.json' ! -name 'vocab.json' ! -name 'special_tokens_map.json' -type f)
done
[ "$n" -gt $((900 / every)) ] || fail "only $n changes were tried"

# Factorized word embeddings whose tensors are not what the configuration says. The header keeps its length.
# refused MODEL SED ERROR
refused() {
  local weights
  rm -rf model
  cp -r "$1" model
  chmod -R u+w model
  weights=$(echo model/model*.safetensors)
  LC_ALL=C sed -i "$2" "$weights"
  cmp -s "$1/${weights#model/}" "$weights" && fail "$2 changed nothing"
  expect 1 encode --model model text.txt
  stderr_has "$weights: "
  stderr_has "$3"
}
expect 0 model trim --text text.txt --embedding-dim 10 --output rank "$SOURCE/tests/golden/models/bert-uncased"
expect 0 model quantize --output rank-int8 rank
for model in rank rank-int8; do
  refused $model 's/"embeddings_project.weight"/"embeddings_project.weighs"/' "tensor 'embeddings_project.weight' is missing"
  refused $model 's/"embeddings_project.bias"/"embeddings_project.bits"/' "tensor 'embeddings_project.bias' is missing"
  refused $model 's/\("embeddings_project.weight":[^}]*\)\[24, 10\]/\1[10, 24]/' \
    "tensor 'embeddings_project.weight' has shape [10, 24], expected [24, 10]"
  refused $model 's/\("embeddings_project.weight":[^}]*\)\[24, 10\]/\1[24, 11]/' "tensor 'embeddings_project.weight'"
  refused $model 's/\("embeddings_project.weight":[^}]*\)\[24, 10\]/\1[0,  10]/' ""
done
refused rank-int8 's/"embeddings_project.weight_scale"/"embeddings_project.weight_scald"/' \
  "tensor 'embeddings_project.weight_scale' is missing"
finish
