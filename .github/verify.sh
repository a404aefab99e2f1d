#!/usr/bin/env bash
# What action.yml runs: annotations of refusals on stdout, a table of all programs in the summary of
# the job. Exits as `skep check` does. FILES and OPTIONS are split at blanks; skep expands globs.
set -uf
# shellcheck disable=SC2086
skep check --format github ${OPTIONS:-} ${FILES:?no files}
code=$?
{
  echo '## eBPF programs'
  echo
  echo '```text'
  skep stat --quiet -e file,prog,verdict,insns,states ${OPTIONS:-} $FILES
  echo '```'
} >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
exit "$code"
