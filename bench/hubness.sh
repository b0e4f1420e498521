#!/usr/bin/env bash
# What correcting for hubness (index hubness, search --csls) does to retrieval across languages: English documents by a
# teacher, queries of other languages by its student.
#
#   bench/hubness.sh CALQUE DATA TEACHER STUDENT WORK [PART...]
#
# PART: sentences (test-ntrex and test-flores of DATA/parallel: hits@1 and MRR@10 of the one right sentence) or passages
# (DATA/clir: MAP). Prints lines of part, hubness, language and figures. Hubness is of: none; the documents themselves
# (own); 600 sentences of each of the queries' languages at most, of train-tatoeba (texts); the queries that are asked
# (asked).
#   LANGUAGES  "de fr es ru ar hi zh": of the sentences; SETS  "ntrex flores"
set -euo pipefail
[ $# -ge 5 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
calque=$(realpath "$1") data=$(realpath "$2") teacher=$(realpath "$3") student=$(realpath "$4") work=$5
shift 5
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(sentences passages)
threads=(--threads "${THREADS:-2}")
read -r -a sentence_languages <<<"${LANGUAGES:-de fr es ru ar hi zh}"
read -r -a sets <<<"${SETS:-ntrex flores}"
mkdir -p "$work"
cd "$work"

for l in "${sentence_languages[@]}"; do
  gzip -dc "$data/parallel/en-$l/train-tatoeba.tsv.gz" | cut -f 2 | awk '!seen[$0]++' | awk 'NR % 7 == 1 && ++n <= 600'
done >texts.txt

# search LANGUAGE OPTION...: lines of the query's number and a document, best first
search() {
  local language=$1
  shift
  "$calque" search docs.index "${threads[@]}" --query-model "$student" --queries "queries.$language" "$@" 2>/dev/null |
    awk -F '\t' '/^# / && NF < 4 { n++; next } NF >= 4 { print n "\t" $2 }'
}
# measure PART SCORE OPTION...: SCORE is a function from a language and a search's lines to figures
measure() {
  local part=$1 score=$2 kind l
  shift 2
  for kind in none own texts asked; do
    case $kind in
      own) "$calque" index hubness docs.index "${threads[@]}" 2>/dev/null ;;
      texts) "$calque" index hubness docs.index "${threads[@]}" --queries texts.txt --query-model "$student" 2>/dev/null ;;
      asked)
        cat queries.* >asked.txt
        "$calque" index hubness docs.index "${threads[@]}" --queries asked.txt --sample 100000 --query-model "$student" 2>/dev/null
        ;;
    esac
    for l in "${languages[@]}"; do
      printf '%s\t%s\t%s\t%s\n' "$part" $kind "$l" "$(search "$l" $([ $kind = none ] || echo --csls) "$@" | $score "$l")"
    done
  done
}

right_one() { # hits@1 and MRR@10
  awk -F '\t' -v gold="gold.$1" '
    BEGIN { while ((getline line <gold) > 0) right[++n] = line }
    $1 != query { query = $1; rank = 0 }
    { rank++; if ($2 == right[$1]) { first += rank == 1; reciprocal += 1 / rank } }
    END { printf "%.4f\t%.4f", first / n, reciprocal / n }'
}
mean_precision() { # MAP
  awk -F '\t' -v judged="$data/clir/qrels.en.txt" -v topics="topics.$1" '
    BEGIN {
      while ((getline line <judged) > 0) {
        split(line, part, " ")
        if (part[4] > 0) { relevant[part[1], part[3]] = 1; n_of[part[1]]++ }
      }
      while ((getline line <topics) > 0) { topic[++n] = line; n_judged += n_of[line] > 0 }
    }
    $1 != query { query = $1; rank = found = 0 }
    { rank++; if ((topic[$1], $2) in relevant) sum += ++found / rank / n_of[topic[$1]] }
    END { printf "%.4f", sum / n_judged }'
}

for part in "${parts[@]}"; do
  rm -rf docs.index queries.* gold.* topics.*
  "$calque" index new --model "$teacher" docs.index 2>/dev/null
  if [ "$part" = sentences ]; then
    languages=("${sentence_languages[@]}")
    for set in "${sets[@]}"; do
      gzip -dc "$data/parallel/en-de/test-$set.tsv.gz" | cut -f 1 | awk -v set=$set '{ print set NR "\t" $0 }'
    done >docs.tsv
    for l in "${languages[@]}"; do
      for set in "${sets[@]}"; do
        gzip -dc "$data/parallel/en-$l/test-$set.tsv.gz" | cut -f 2 | tee -a "queries.$l" | awk -v set=$set '{ print set NR }'
      done >"gold.$l"
    done
    "$calque" index add docs.index "${threads[@]}" --ids docs.tsv 2>/dev/null
    measure sentences right_one
  else
    languages=(en de ru ar hi) # not es, whose documents are translations of the English ones
    for l in "${languages[@]}"; do
      sed -n 's:.*<title>\(.*\)</title>.*:\1:p' "$data/clir/topics.$l.xml" >"queries.$l"
      sed -n 's:.*<num>\(.*\)</num>.*:\1:p' "$data/clir/topics.$l.xml" >"topics.$l"
    done
    "$calque" index add docs.index "${threads[@]}" "$data/clir/docs.en.trec" 2>/dev/null
    measure passages mean_precision --top 1000
  fi
done
