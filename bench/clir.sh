#!/bin/bash
# Cross-lingual retrieval on the collections of DATA/clir, in the layout of tables 2 to 4 of Niyogi et al. 2018.
#   bench/clir.sh BUILD DATA OUT [MODEL]
#   BUILD  calque's build folder       DATA   holds clir/ and stopwords/
#   OUT    runs are kept here, and one that is there is not made again; OUT/figures.tsv, OUT/times.tsv and OUT/compare.txt are made
#   MODEL  a multilingual student, for the dense rows
# Figures do not depend on the number of threads; times do, and folds of the paper's methods are trained side by side, one thread each.
# PAIRS="en:hi en:de hi:de" and TRIPLES="en:hi:de en:ar:ru" choose, and PARTS="written letters triples shares negatives changes":
# PARTS=letters makes the runs of words spelled alike and of MODEL alone, with their bounds. All is chosen on training folds: five
# folds over articles, of which each has four topics. The collections of English and Spanish, Hindi and Arabic, German and Russian
# hold translations of one another: these three pairs are refused.
set -euo pipefail
build=$1 data=$2 out=$3 model=${4-}
calque=$build/calque
mkdir -p "$out"
pairs=${PAIRS-en:hi en:de hi:de}
triples=${TRIPLES-en:hi:de en:ar:ru}
has_part() { case " ${PARTS-written letters triples shares negatives changes} " in *" $1 "*) ;; *) return 1 ;; esac; }

. "$(dirname "$0")/clir_runs.sh"

sources() { # LANGUAGES
  echo --languages "$1" --docs "$data/clir/docs.%.trec" --topics "$data/clir/topics.%.xml" \
    --qrels "$data/clir/qrels.%.txt" --stop-words "$data/stopwords/%.txt"
}

validate() { # LANGUAGES FROM TO NAME OPTION...
  local languages=$1 from=$2 to=$3 name=$4
  shift 4
  run "$languages.$from-$to.$name" "$calque" clir validate $(sources "$languages") --from "$from" --to "$to" --group 4 "$@"
}

mono() { # LANGUAGE
  bounds "$1" "$data/clir/docs.$1.trec" "$data/clir/topics.$1.xml" --stop-words "$data/stopwords/$1.txt"
}

check_pair() { # A B
  case $1:$2 in
    en:es | es:en | hi:ar | ar:hi | de:ru | ru:de)
      echo "$0: $1 and $2 hold translations of one another" >&2
      exit 2
      ;;
  esac
}

both_ways() { # FUNCTION LANGUAGES A B
  check_pair "$3" "$4"
  "$1" "$2" "$3" "$4"
  "$1" "$2" "$4" "$3"
}

# The paper's method and its baseline, as written.
as_written() {
  validate "$1" "$2" "$3" vulic-moens --mix at-random --method documents --kappa 0 --tau 1
  validate "$1" "$2" "$3" paper
}

# What the paper leaves open, one change at a time, and what goes beyond it.
beyond() {
  validate "$1" "$2" "$3" paper-weighted --weighted
  validate "$1" "$2" "$3" paper-idf --idf
  validate "$1" "$2" "$3" paper-weighted-idf --weighted --idf
  validate "$1" "$2" "$3" paper-feedback --feedback 20
  validate "$1" "$2" "$3" paper-sum --method sum
  validate "$1" "$2" "$3" paper-csls --csls 10 --kappa 10
  validate "$1" "$2" "$3" paper-epochs --epochs 25 --kappa 10 --window 25 --tau 1 --tau 5 --tau 10
  validate "$1" "$2" "$3" paper-pseudo-in-all --pseudo-in-all --kappa 10
  validate "$1" "$2" "$3" paper-keep --keep-words --kappa 10 --tau 1 --tau 5 --tau 10
  validate "$1" "$2" "$3" paper-subwords --min-ngram 3 --max-ngram 6 --kappa 10 --window 25 --tau 1 --tau 5 --tau 10
  validate "$1" "$2" "$3" paper-all --all-documents --kappa 10 --window 25 --epochs 25 --tau 1 --tau 5 --tau 10
  validate "$1" "$2" "$3" vulic-moens-all --mix at-random --method documents --all-documents --kappa 0 --tau 1 --window 25 --window 50 --epochs 25
}

by_letters() {
  validate "$1" "$2" "$3" cognates --method cognates
  [ -n "$model" ] || return 0
  run "$1.$2-$3.dense" "$calque" clir dense --model "$model" "$data/clir/docs.$3.trec" "$data/clir/topics.$2.xml"
  run "$1.$2-$3.dense+cognates" "$calque" clir fuse "$out/$1.$2-$3.dense" "$out/$1.$2-$3.cognates"
}

# Words that are spelled alike, by way of the third language, too.
through() { validate "$1" "$2" "$3" cognates --method cognates; }

for pair in $pairs; do
  a=${pair%:*} b=${pair#*:}
  mono "$a"
  mono "$b"
  ! has_part letters || both_ways by_letters "$a,$b" "$a" "$b"
  ! has_part written || both_ways as_written "$a,$b" "$a" "$b"
done
for triple in $triples; do
  has_part triples || break
  IFS=: read -r a b c <<<"$triple"
  mono "$a"
  mono "$b"
  mono "$c"
  for two in "$a $b" "$a $c" "$b $c"; do
    both_ways as_written "$a,$b,$c" $two
    both_ways through "$a,$b,$c" $two
    both_ways as_written "${two/ /,}" $two
    both_ways by_letters "${two/ /,}" $two
  done
done
# Learning curves: about a quarter and half of the training articles.
for share in 0.25 0.5; do
  has_part shares || break
  for pair in $pairs; do
    a=${pair%:*} b=${pair#*:}
    validate "$a,$b" "$a" "$b" "cognates-$share" --method cognates --share $share
    validate "$a,$b" "$a" "$b" "paper-$share" --share $share
  done
done
# Negatives that are shared, or not, for three seeds.
for seed in 1 2 3; do
  has_part negatives || break
  for shared in "" --share-negatives; do
    validate en,de en de "seed$seed$shared" --all-documents --kappa 10 --window 25 --epochs 25 --tau 5 --seed $seed $shared
  done
done
for pair in $pairs; do ! has_part changes || both_ways beyond "${pair/:/,}" "${pair%:*}" "${pair#*:}"; done

# Figures of every run; those of the monolingual one stand first.
measures="map Rprec bpref P_10 ndcg_cut_10 recall_100"
figures() { # RUN QRELS
  local m args=()
  for m in $measures; do args+=(--measure "$m"); done
  "$calque" eval retrieval --complete "$2" "$1" "${args[@]}" | cut -f 3 | paste -sd '\t'
}
{
  printf 'languages\tfrom\tto\tsystem\t%s\n' "$(echo "$measures" | tr ' ' '\t')"
  for r in "$out"/{mono,feedback,bm25}.??; do
    name=${r##*/}
    printf -- '-\t%s\t%s\t%s\t%s\n' "${r##*.}" "${r##*.}" "${name%.*}" "$(figures "$r" "$data/clir/qrels.${r##*.}.txt")"
  done
  for r in "$out"/*.??-??.*; do
    case $r in *.log | *.tmp) continue ;; esac
    name=${r##*/} languages=${name%%.*} rest=${name#*.}
    way=${rest%%.*}
    printf '%s\t%s\t%s\t%s\t%s\n' "$languages" "${way%-*}" "${way#*-}" "${rest#*.}" "$(figures "$r" "$data/clir/qrels.${way#*-}.txt")"
  done
} >"$out/figures.tsv"

# Time before retrieval (of one fold) and during it (of its queries), as the folds' means.
{
  printf 'languages\tfrom\tto\tsystem\tbefore_s\tretrieval_s\n'
  for log in "$out"/*.??-??.*.log; do
    name=${log##*/} name=${name%.log}
    rest=${name#*.} way=${rest%%.*}
    sed -nE 's/.*; ([0-9.]+) s before, ([0-9.]+) s retrieval/\1 \2/p' "$log" | awk -v l="${name%%.*}" -v f="${way%-*}" -v t="${way#*-}" -v s="${rest#*.}" \
      '{ b += $1; r += $2; n++ } END { if (n) printf "%s\t%s\t%s\t%s\t%.3f\t%.4f\n", l, f, t, s, b / n, r / n }'
  done
} >"$out/times.tsv"

# Significance on article means: each system against the paper's method.
for base in "$out"/*.paper; do
  [ -s "$base" ] || break # no such run
  name=${base##*/} prefix=${base%paper}
  way=$(echo "$name" | cut -d . -f 2)
  echo "== $name"
  others=("$out/mono.${way#*-}")
  for s in vulic-moens cognates dense dense+cognates; do [ -s "$prefix$s" ] && others+=("$prefix$s"); done
  "$calque" compare "$data/clir/qrels.${way#*-}.txt" "$base" "${others[@]}" --group 4
done >"$out/compare.txt"
column -t -s "$(printf '\t')" "$out/figures.tsv"
