#!/usr/bin/env bash
# Install the toolkit of the checkout that this file is in, for the actions beside it, once for all steps of a job.
#
# TOOLKIT_PYTHON names the interpreter. The program's path becomes the output `program` of the step. Libraries of the
# interpreter stay visible, since notebooks use them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${TOOLKIT_PYTHON:-$(command -v python || command -v python3 || echo python)}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo '::error title=Python is missing::Python 3.11 or newer is needed. Run actions/setup-python first.'
    exit 2
fi
folder=$RUNNER_TEMP/toolkit-$(printf %s "$python" | cksum | cut -d ' ' -f 1)
[ -e "$folder/pyvenv.cfg" ] || "$python" -m venv --system-site-packages "$folder"
bin=$folder/bin
[ -d "$bin" ] || bin=$folder/Scripts # Windows
if ! [ -e "$folder/installed" ]; then
    "$bin/python" -m pip install --quiet --disable-pip-version-check "$here/../.." 'ipykernel>=6.29' 'nbclient>=0.10.1'
    touch "$folder/installed"
fi
echo "program=$bin/toolkit" >>"$GITHUB_OUTPUT"
