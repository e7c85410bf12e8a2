#!/usr/bin/env bash
# Scan with the program of the step before; the action's inputs are in variables.
set -euo pipefail
arguments=(--format github)
[ -z "$TOOLKIT_SARIF" ] || arguments+=("--save-sarif=$TOOLKIT_SARIF")
arguments+=(--)
while IFS= read -r path; do
    [ -z "$path" ] || arguments+=("$path")
done <<<"$TOOLKIT_PATHS"
# The variables are about this action, and not settings of the toolkit.
exec env -u TOOLKIT_PATHS -u TOOLKIT_SARIF -u TOOLKIT_PROGRAM "$TOOLKIT_PROGRAM" scan "${arguments[@]}"
