# What must be true of a state after a crash: bash crash_checks.sh CHECK, with the state in the directory `crashed`. Exit 1
# with a message if it is not. test_crashes.sh sets the variables, and writes what was found before (`old`) and what an
# undisturbed run leaves (`new`).
found() { "$PROGRAM" search "$1" --top 100 --threads 1 "an old baker" "ein grüner Zug" 2>&1; }
of_directory() { (cd "$1" 2>/dev/null && find . -type f ! -name log.jsonl ! -name README.md | LC_ALL=C sort | xargs -r sha256sum); }
refuse() { echo "FAILED: $writer: $*" >&2 && exit 1; }
one_of() { for i in "${@:2}"; do [ "$1" != "$i" ] || return 0; done; refuse "neither the old state nor the new one: $1"; }
old_or_new_index() {
  "$PROGRAM" index check crashed/index >checked 2>&1 || refuse "$(cat checked)"
  one_of "$(found crashed/index)" "$(cat old)" "$(cat new)"
  "$PROGRAM" $again crashed/index $input >checked 2>&1 || refuse "the next change: $(cat checked)"
  "$PROGRAM" index check crashed/index >checked 2>&1 || refuse "after the next change: $(cat checked)"
  one_of "$(found crashed/index)" "$(cat new)"
}
new_index() {
  if [ -e crashed/index ]; then
    "$PROGRAM" index check crashed/index >checked 2>&1 || refuse "$(cat checked)"
  fi
}
cache_is_whole() {
  [ ! -e crashed/cache ] || "$PROGRAM" cache check --cache crashed/cache >checked 2>&1 || refuse "$(cat checked)"
  "$PROGRAM" mine --model "$TEACHER" --cache crashed/cache --threads 1 en.txt de.txt >mined 2>checked || refuse "$(cat checked)"
  cmp -s mined new || refuse "other pairs"
  ! grep -i damaged checked || refuse "damage is told"
}
resumes() {
  if [ -e crashed/model ] && [ ! -e crashed/model.work ]; then
    one_of "$(of_directory crashed/model)" "$(cat new)"
  else
    "$PROGRAM" $distill --output crashed/model >checked 2>&1 || refuse "$(tail -n 3 checked)"
    one_of "$(of_directory crashed/model)" "$(cat new)"
    one_of "$(sed -E 's/,?"seconds":[0-9.e-]+//' crashed/model/log.jsonl)" "$(cat new.log)"
  fi
}
absent_or_whole() {
  [ ! -e crashed/out ] || one_of "$(of_directory crashed/out)" "$(cat new)"
  rm -rf made && mkdir -p made && [ ! -e crashed/out ] || return 0
  "$PROGRAM" ${command//state/crashed} >checked 2>&1 || refuse "the next run: $(cat checked)"
  one_of "$(of_directory crashed/out)" "$(cat new)"
}
file_absent_or_whole() { [ ! -e crashed/out.npy ] || cmp -s crashed/out.npy new || refuse "a part of the file"; }
"$@"
