#!/usr/bin/env bash
# Which student: English-German, the same text and steps; the kinds that Reimers & Gurevych 2020 compare and what they leave
# out. Then one language against seven, "the curse of multilinguality".
#
#   bench/tables/students.sh PROGRAM DATA TEACHER WORK
. "$(dirname "$0")/common.sh"

compare_heading "student"
compare "the teacher's body, new vocabulary" "$work/size-all" "$(rows_of en-de)"
compare "a fresh transformer of its size" "$work/student-transformer" "$(rows_of en-de)"
compare "BiLSTM, maximum over words (LASER's shape)" "$work/student-bilstm" "$(rows_of en-de)"
compare "mean of word vectors (static)" "$work/student-static" "$(rows_of en-de)"
compare "the same, 20,000 steps" "$work/student-static-20k" "$(rows_of en-de)"
compare "static, from the teacher, 10,000 steps" "$work/student-static-teacher" "$(rows_of en-de)"
echo
heading "one language or seven" tatoeba flores ntrex "STS-B" "STS-B with English" "STS 2017" "STS 2017 with English"
one() { # NAME MODEL LANGUAGE
  local language=$3 folder=$data/parallel/en-$3
  [ -d "$2" ] || { row "$1" "not run here" — — — — — —; return; }
  local -a cells
  local accuracies similar crossed=/
  accuracies=$(translation "$2" "$folder"/test-{tatoeba,flores,ntrex}.tsv.gz)
  [ ! -f "$data/sts/stsb-$language-test.tsv.gz" ] || crossed=$(crossed_sts "$language")
  similar=$(sts "$2" "$data/sts/stsb-$language-test.tsv.gz" "$crossed" "$data/sts/sts17-$language-"{"$language",en}.tsv)
  mapfile -t cells <<<"$accuracies"$'\n'"$similar"
  row "$1" "${cells[@]}"
}
one "German alone" "$work/size-all" de
one "German, of seven" "$work/langs-50k" de
one "Spanish alone" "$work/lang-es" es
one "Spanish, of seven" "$work/langs-50k" es
one "Arabic alone" "$work/lang-ar" ar
one "Arabic, of seven" "$work/langs-50k" ar
