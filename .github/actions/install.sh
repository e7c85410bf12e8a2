#!/usr/bin/env bash
# Install the toolkit of the checkout that this file is in, for the actions beside it.
#
# Usage: install.sh FOLDER [OPTION OF venv] [PACKAGE ...]
# FOLDER is the virtual environment to make, or to use again; TOOLKIT_PYTHON names the interpreter.
set -euo pipefail
folder=$1
shift
options=()
if [ "${1:-}" = --system-site-packages ]; then
    options=(--system-site-packages)
    shift
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${TOOLKIT_PYTHON:-$(command -v python || command -v python3 || true)}
if ! "${python:-python}" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo '::error title=Python is missing::Python 3.11 or newer is needed. Run actions/setup-python first.'
    exit 2
fi
[ -e "$folder/pyvenv.cfg" ] || "$python" -m venv ${options[@]+"${options[@]}"} "$folder"
bin=$folder/bin
[ -d "$bin" ] || bin=$folder/Scripts # Windows
[ -e "$bin/toolkit" ] || [ -e "$bin/toolkit.exe" ] ||
    "$bin/python" -m pip install --quiet --disable-pip-version-check "$here/../.." "$@"
