# calque lexical terms: the terms of arguments and of lines, and what is refused.
. "$(dirname "$0")/../cli/common.sh"

expect 0 lexical terms "The OLD harbour" "don’t"
printf "the old harbour\ndon't\n" >want
same want stdout
stderr_is_empty
expect 0 lexical terms --language en "Houses were running"
stdout_has "hous were run"
expect 0 lexical terms --language en --no-stems "Houses were running"
stdout_has "houses were running"
printf '# a remark\nwere\nHOUSES\n' >stop
expect 0 lexical terms --language en --stop-words stop "Houses were running" "were"
printf 'run\n\n' >want
same want stdout
expect 0 lexical terms --language fr --no-stems "L’eau"
stdout_has "l eau"
expect 0 lexical terms ""
printf '\n' >want
same want stdout

printf 'Old boats\n\nपढ़ना\r\n' >lines
expect_from lines 0 lexical terms --language xx
printf 'old boats\n\nपढ\340\244\274ना\n' >want
same want stdout
: >empty
expect_from empty 0 lexical terms
stdout_is_empty
printf 'one\nb\377d\nthree\n' >bad
expect_from bad 1 lexical terms
printf 'one\n' >want
same want stdout
stderr_has "<stdin>:2: not UTF-8"

expect 1 lexical terms --stop-words nowhere "text"
stderr_has "nowhere"
stdout_is_empty
expect 1 lexical terms --stop-words bad "text"
stderr_has "bad:2: not UTF-8"
expect 1 lexical terms --language a-language-that-is-none "text"
stderr_has "the language is 'a-language-that-is-none', expected a code of 2 or 3 letters"
for language in EN en-GB; do
  expect 0 lexical terms --language $language "Houses were running"
  stdout_has "hous were run"
done
expect 1 lexical terms --language english "text"
stderr_has "the language is 'english', expected a code of 2 or 3 letters"
stdout_is_empty
expect 2 lexical terms --stem "text"
finish
