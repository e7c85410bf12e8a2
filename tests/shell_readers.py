"""Readers of variables in each form in which the toolkit prints them: shells, `.env` and TOML."""

from __future__ import annotations

import io
import re
import shlex
import tomllib

from dotenv import dotenv_values

from toolkit.core.shells import Form

SINGLE = "'\u2018\u2019\u201a\u201b"


def read_bash(line):
    words = shlex.split(line)
    assert words[0] == "export"
    assert len(words) == 2
    return dict([words[1].split("=", 1)])


def read_powershell(line):
    """Read `$env:NAME = '...'`: a quote of any kind ends the text, unless it stands twice (about_Quoting_Rules)."""
    name, literal = re.fullmatch(r"\$env:(\w+) = (.*)", line, re.DOTALL).groups()
    assert literal[0] == "'"
    value, at = "", 1
    while not (literal[at] in SINGLE and literal[at + 1 : at + 2] not in tuple(SINGLE)):
        value += literal[at]
        at += 2 if literal[at] in SINGLE else 1
    assert at == len(literal) - 1
    return {name: value}


def read_cmd(line):
    return dict([re.fullmatch(r'set "(\w+=.*)"', line)[1].split("=", 1)])


def read_env(line):
    return dict(dotenv_values(stream=io.StringIO(line), interpolate=False))


READERS = {
    Form.BASH: read_bash,
    Form.POWERSHELL: read_powershell,
    Form.ENV: read_env,
    Form.TOML: tomllib.loads,
}
