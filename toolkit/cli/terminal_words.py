"""Put errors into the words of a terminal.

The rooms below speak to people who write Python: "Use scheme="headers"". At a terminal the same advice names an option:
"Use --scheme headers". So one error serves both, and no room needs to know who reads it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

_ARGUMENT: Final = re.compile(r'\b(?P<name>[a-z][a-z_]*)=(?:(?P<flag>True)\b|"(?P<text>[\w.-]+)")')
_SESSION_ARGUMENTS: Final = re.compile(r'tk\.Session\("(?P<environment>[\w-]+)", "(?P<name>[\w.-]+)"\)')
_SESSION_OPTIONS: Final = (
    r"--credentials \g<name>, or `toolkit credentials test \g<name> --environment \g<environment>`"
)
# Advice that is about Python alone, and what replaces it. The text of an error below is quoted as it is there.
_PHRASES: Final = (
    (
        "Copy all of it with its line breaks, or give its file as a pathlib.Path.",
        "Give its file with --key-file.",
    ),
    (
        "Give a private key as PEM or JWK text, as a pathlib.Path to its file, or as a key object.",
        "Give the file of a private key, PEM or JWK, with --key-file.",
    ),
    ("save the credentials with save_credentials()", "run `toolkit credentials add`"),
    (", or save the credentials again with save_credentials()", ", or run `toolkit credentials add` again"),
    (", or pass a key: tk.Rules(pseudonyms=..., key=...)", ", or take pseudonyms out of toolkit.toml"),
    ('; or replay this one with mode="none"', ""),  # the commands that record have no such mode
    (" at a terminal, or save_credentials() in Python", ""),
    ("The response, if there was one, is this error's `response`.", ""),
    ("The call was made; its answer, if any, is this error's `response`.", "The call was made."),
    ("open the cassette online with", "record online with"),
    (
        'Leave verify out, or pass verify="system" or the path of a file with the certificate authority.',
        'Write verify = "system", or the path of a file with the certificate authority, in toolkit.toml.',
    ),
    ("or port=0 for any", "or --port 0 for any"),
    ('Pass verify="system"', 'Write verify = "system" in toolkit.toml'),
)


def for_terminal(text: str, options: Collection[str]) -> str:
    """Return the text of an error in the words of a terminal.

    Args:
        text: what an error says.
        options: the long options of the application; an argument without an option of its name stays as it is.
    """
    for phrase, words in _PHRASES:
        text = text.replace(phrase, words)
    text = text.replace("  ", " ").strip()  # where a sentence was left out

    def option(match: re.Match[str]) -> str:
        name = f"--{match['name'].replace('_', '-')}"
        if name not in options:
            return match[0]
        return name if match["flag"] else f"{name} {match['text']}"

    return _ARGUMENT.sub(option, _SESSION_ARGUMENTS.sub(_SESSION_OPTIONS, text))
