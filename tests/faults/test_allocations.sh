# A sample of single failed allocations in whole commands. All of them: scripts/fail-allocations.
. "$(dirname "$0")/../cli/common.sh"
is_sanitized && echo "skipped: a sanitizer has a malloc of its own" && exit
"$SOURCE/scripts/fail-allocations" --sample "${SAMPLE:-10}" --seed "${SEED:-1}" "$(dirname "$PROGRAM")" || exit 1
