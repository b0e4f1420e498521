#!/bin/bash
# Collections for `calque clir`, of English and other languages, out of news that is translated sentence by sentence; and what
# words spelled alike find in them. They have nothing to do with the collections that the method was made on.
#   bench/clir_news.sh BUILD DATA OUT LANGUAGE...
#   BUILD  calque's build folder
#   DATA   holds parallel/en-LANGUAGE/SPLIT-ntrex.tsv.gz, whose lines are whole articles one after another, and stopwords/
#   OUT    OUT/SPLIT/docs.LANGUAGE.trec, topics.LANGUAGE.xml and qrels.LANGUAGE.txt are made, and runs; a run that is there is not
#          made again. OUT/SPLIT/figures.tsv has the figures
# SPLIT=dev in the environment: to develop on; test, the default: to report. QUOTES=no: without the words in Latin letters that the other
# languages' texts quote, in OUT/SPLIT-no-quotes; of languages that are not written in these letters.
#
# An article begins with a headline, which has no punctuation at its end, and has at least ten sentences. The headline and three
# sentences are its four topics (--group 4). The first half of the others is English documents, the second half the other languages',
# two sentences each: no document is a translation of an English one. But all other languages have the same halves: pairs without
# English are translations and are not for measuring.
set -euo pipefail
[ $# -ge 4 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$1 data=$2 split=${SPLIT-test} out=$3/${SPLIT-test}
[ "${QUOTES-yes}" = yes ] || out=$out-no-quotes
shift 3
calque=$build/calque
mkdir -p "$out"

# collection LANGUAGE PAIR COLUMN: the second column of PAIR is another language's
collection() {
  gzip -dc "$data/parallel/$2/$split-ntrex.tsv.gz" | awk -F '\t' -v code="$1" -v column="$3" -v out="$out" -v quotes="${QUOTES-yes}" '
    function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text); return text }
    function flush_article(  i, n, from, to, half, topic, is_topic) {
      if (n_sentences < 10) return
      split("", is_topic)
      for (i = 0; i < 4; i++) {
        topic = 1 + int(i * n_sentences / 4)
        is_topic[topic] = 1
        printf "<top>\n<num>%d</num>\n<title>%s</title>\n</top>\n", 4 * n_articles + i + 1, escaped(sentences[topic]) >topics
      }
      n = 0
      for (i = 1; i <= n_sentences; i++) if (!(i in is_topic)) left[++n] = sentences[i]
      half = int(n / 2)
      from = column == 1 ? 1 : half + 1
      to = column == 1 ? half : n
      for (i = from; i <= to; i += 2) {
        id = sprintf("%s-%03d-%02d", code, n_articles, i)
        printf "<DOC>\n<DOCNO>%s</DOCNO>\n<TEXT>\n%s\n%s\n</TEXT>\n</DOC>\n", id, escaped(left[i]), i < to ? escaped(left[i + 1]) : "" >docs
        for (topic = 1; topic <= 4; topic++) printf "%d 0 %s 1\n", 4 * n_articles + topic, id >qrels
      }
      n_articles++
    }
    BEGIN { docs = out "/docs." code ".trec"; topics = out "/topics." code ".xml"; qrels = out "/qrels." code ".txt" }
    $1 !~ /[.?!:;,"'"'"')]$/ && $1 !~ /(”|’)$/ && (n_sentences >= 10 || NR == 1) { flush_article(); n_sentences = 0 }
    column == 2 && quotes == "no" { gsub(/[A-Za-z]+/, "", $2) }
    { sentences[++n_sentences] = $column }
    END { flush_article() }'
}

. "$(dirname "$0")/clir_runs.sh"

sources() { # LANGUAGES
  echo --languages "$1" --docs "$out/docs.%.trec" --topics "$out/topics.%.xml" --qrels "$out/qrels.%.txt"
}

figure() { # RUN LANGUAGE
  "$calque" eval retrieval --complete --measure map "$out/qrels.$2.txt" "$out/$1" | cut -f 3
}

# Every topic is searched for by what is learned of the other folds' articles; nothing is chosen on these collections.
folds() { # FROM TO
  local fold
  for fold in 1 2 3 4 5; do
    "$calque" clir run $(sources "$1,$2") --from "$1" --to "$2" --group 4 --method cognates --hold-out "$fold"
  done
}

row() { # FROM TO
  run "$1-$2" folds "$1" "$2"
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$(figure "mono.$2" "$2")" "$(figure "bm25.$2" "$2")" "$(figure "feedback.$2" "$2")" \
    "$(figure "$1-$2" "$2")" | awk '{ printf "%s\t%.0f\t%.0f\t%.0f\n", $0, 100 * $6 / $3, 100 * $6 / $4, 100 * $6 / $5 }'
}

collection en "en-$1" 1
bounds en "$out/docs.en.trec" "$out/topics.en.xml"
{
  printf 'from\tto\tmonolingual\tBM25\twith feedback\tspelled alike\t%% of monolingual\t%% of BM25\t%% of feedback\n'
  for language; do
    collection "$language" "en-$language" 2
    bounds "$language" "$out/docs.$language.trec" "$out/topics.$language.xml"
    row en "$language"
    row "$language" en
  done
} >"$out/figures.tsv"
cat "$out/figures.tsv"
