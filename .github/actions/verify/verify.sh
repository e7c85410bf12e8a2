#!/usr/bin/env bash
# Verify with the program of the step before; the action's inputs are in variables.
set -euo pipefail
arguments=(--format github)
[ -z "$TOOLKIT_SINCE" ] || arguments+=("--since=$TOOLKIT_SINCE")
[ -z "$TOOLKIT_SAVE_NOTEBOOKS" ] || arguments+=("--save-notebooks=$TOOLKIT_SAVE_NOTEBOOKS")
arguments+=(--)
while IFS= read -r path; do
    [ -z "$path" ] || arguments+=("$path")
done <<<"$TOOLKIT_PATHS"
# The variables are about this action, and not settings of the toolkit.
exec env -u TOOLKIT_PATHS -u TOOLKIT_SINCE -u TOOLKIT_SAVE_NOTEBOOKS -u TOOLKIT_PROGRAM "$TOOLKIT_PROGRAM" verify "${arguments[@]}"
