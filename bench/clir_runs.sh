# Sourced by scripts that make runs of `calque clir`. Wants `calque`, `out` and a function sources LANGUAGES, which prints where
# documents, topics and judgements are.

# run NAME COMMAND...: standard output to OUT/NAME, what was chosen to OUT/NAME.log
run() {
  local name=$1
  shift
  [ -s "$out/$name" ] && return
  "$@" >"$out/$name.tmp" 2>"$out/$name.log" || { cat "$out/$name.log" >&2; return 1; }
  mv "$out/$name.tmp" "$out/$name"
  echo "$name: $(tail -n 1 "$out/$name.log")" >&2
}

# Monolingual runs to compare with: plain, with the feedback of words spelled alike, and BM25.
bounds() { # LANGUAGE DOCUMENTS TOPICS OPTION...: options are those of `calque lexical build`
  local language=$1 documents=$2 topics=$3
  shift 3
  run "mono.$language" "$calque" clir run $(sources "$language") --from "$language" --to "$language"
  run "feedback.$language" "$calque" clir run $(sources "$language") --from "$language" --to "$language" --method cognates
  [ -e "$out/index.$language" ] ||
    "$calque" lexical build "$out/index.$language" "$documents" --language "$language" "$@" 2>/dev/null
  run "bm25.$language" "$calque" lexical run "$out/index.$language" "$topics" --model bm25
}
