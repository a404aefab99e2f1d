#!/usr/bin/env bash
# What action.yml runs: annotations of refusals on stdout, a table of all programs in the summary of
# the job, and the comparison with the committed baseline, if there is one. Exits as `skep check` and
# `skep baseline check` do. FILES and OPTIONS are split at blanks; skep expands globs. KERNELS are for
# `skep check`, which cannot have --btf with it; the table and the baseline are of one kernel.
set -uf
summary="${GITHUB_STEP_SUMMARY:-/dev/stdout}"
kernels=()
if [ -n "${KERNELS:-}" ]; then kernels=(--kernel "${KERNELS// /}"); fi
# shellcheck disable=SC2086
skep check -o github ${kernels[@]+"${kernels[@]}"} ${OPTIONS:-} ${FILES:?no files}
code=$?
{
  echo '## eBPF programs'
  echo
  if [ -n "${KERNELS:-}" ]; then
    # shellcheck disable=SC2086
    skep check -o markdown "${kernels[@]}" ${OPTIONS:-} $FILES 2>/dev/null
    echo
  fi
  # shellcheck disable=SC2086
  skep stat --quiet -o markdown -e file,prog,verdict,insns,states ${OPTIONS:-} $FILES
} >>"$summary"
if [ -n "${BASELINE:-}" ] || [ -f skep-baseline.csv ]; then
  baseline="${BASELINE:-skep-baseline.csv}"
  errors=$(mktemp)
  {
    echo
    echo "### Compared with $baseline"
    echo
    # shellcheck disable=SC2086
    skep baseline check -b "$baseline" --fail-if "${FAIL_IF:-insns_pct>10}" -o markdown \
      ${OPTIONS:-} $FILES 2>"$errors"
  } >>"$summary"
  gate=$?
  sed -n 's/^error: /::error title=skep baseline::/p; s/^note: /::notice title=skep baseline::/p' "$errors"
  rm -f "$errors"
  if [ "$gate" -gt "$code" ]; then code=$gate; fi
fi
exit "$code"
