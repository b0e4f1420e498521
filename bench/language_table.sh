#!/usr/bin/env bash
# Language identification on held-out text, a row per language: percent right of sentences with 20 characters or more.
#
#   bench/language_table.sh DATA FETCHED        as scripts/make-language-model; BUILD is the build directory
#
# Below the table are all languages together, the short texts, the rate, and what is taken for what (more than two
# sentences). The last part is English in 3 to 6 words.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
text=$(mktemp -d)
trap 'rm -rf "$text"' EXIT
cd "$root"
python3 reference/language_text.py "$1" "$2" "$text"
for name in test-flores test-ntrex test-tatoeba messages english; do
  "${BUILD:-build/release}/bench/bench_language_model" measure "$text/$name" >"$text/$name.measured"
done
python3 - "$text" <<'END'
import re, sys
names = "test-flores", "test-ntrex", "test-tatoeba", "messages"
texts = [open(f"{sys.argv[1]}/{name}.measured").read() for name in names]
right = [dict(re.findall(r"(?m)^([a-z]{2,3}) +\d+ +([\d.]+)", text)) for text in texts]
print("", *names, sep="\t")
for language in sorted(set().union(*right)):
    print(language, *(r.get(language, "") for r in right), sep="\t")
END
for name in test-flores test-ntrex test-tatoeba messages english; do
  sed -nE '/^[a-z]{2,3} +[0-9]/d; s|^/.*/||; p' "$text/$name.measured"
done
