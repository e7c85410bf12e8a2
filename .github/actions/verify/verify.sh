#!/usr/bin/env bash
# Verify with the toolkit in the virtual environment that is named; the action's inputs are in variables.
set -euo pipefail
program=$1/bin/toolkit
[ -e "$program" ] || program=$1/Scripts/toolkit # Windows
arguments=(--format github)
[ -z "$TOOLKIT_SINCE" ] || arguments+=("--since=$TOOLKIT_SINCE")
[ -z "$TOOLKIT_SAVE_TO" ] || arguments+=("--save-to=$TOOLKIT_SAVE_TO")
arguments+=(--)
while IFS= read -r path; do
    [ -z "$path" ] || arguments+=("$path")
done <<<"$TOOLKIT_PATHS"
# The variables are about this action, and not settings of the toolkit.
exec env -u TOOLKIT_PATHS -u TOOLKIT_SINCE -u TOOLKIT_SAVE_TO -u TOOLKIT_PYTHON "$program" verify "${arguments[@]}"
