"""The file that is the cassette of a test, and the project that the test belongs to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolkit.cassettes.paths import find_cassette
from toolkit.core.errors import ConfigurationError
from toolkit.local.folders import SETTINGS_FILE, find_project
from toolkit.local.settings import Settings

FOLDER: Final = "cassettes"  # beside the tests, as pytest-recording has it
FAILED: Final = ".failed"  # between the name of a cassette and its suffix, for the recording of a failed test
_NOT_IN_NAMES: Final = re.compile(r"""[\x00-\x1f<>?%*:|"'/\\]""")
_LONGEST: Final = 200  # bytes; systems allow 255, and suffixes are added
_DIGEST: Final = 12  # characters


def file_name(test: str, class_name: str | None = None) -> str:
    """Return the name of the cassette of a test, without suffix: as pytest-recording names it, unless it is long.

    Characters that systems do not allow in names become "-".
    """
    name = _NOT_IN_NAMES.sub("-", f"{class_name}.{test}" if class_name else test)
    encoded = name.encode("utf-8", "replace")
    if len(encoded) <= _LONGEST:
        return name
    digest = hashlib.sha256(encoded).hexdigest()[:_DIGEST]
    return f"{encoded[: _LONGEST - _DIGEST - 1].decode('utf-8', 'ignore')}-{digest}"


def default_file(module: Path, test: str, class_name: str | None = None) -> Path:
    """Return the cassette of a test that names none: `cassettes/<module>/<test>.yaml` beside its module."""
    return module.parent / FOLDER / module.stem / f"{file_name(test, class_name)}.yaml"


def chosen_file(name: str | Path, module: Path, settings: Settings) -> Path:
    """Return the cassette that a marker names: in the project's cassettes folder, or a path from the test's folder.

    Raises:
        ConfigurationError: if it is neither a name nor a path.
    """
    path = find_cassette(name, settings)
    return path if path.is_absolute() else module.parent / path


def failed_file(cassette: Path) -> Path:
    """Return where the recording of a failed test is kept: `<name>.failed.yaml` beside the cassette."""
    return cassette.with_name(f"{cassette.stem}{FAILED}{cassette.suffix}")


def project_settings(module: Path) -> Settings:
    """Return the settings of the project that a test module is in, whatever the working directory is.

    Raises:
        ConfigurationError: if a setting is malformed.
    """
    project = find_project(module.parent)
    file = project / SETTINGS_FILE
    return Settings.load(file) if file.is_file() else replace(Settings.load(), project=project)


def refuse_shared(file: Path, test: str, others: Iterable[tuple[str, Path]]) -> None:
    """Refuse that two tests record to one file because their names differ only in characters that files cannot have.

    Args:
        file: the default cassette of a test.
        test: the node ID of the test.
        others: node IDs of tests, with their default cassettes.

    Raises:
        ConfigurationError: if another test has the same file.
    """
    same = str(file).casefold()
    for other, place in others:
        if other != test and str(place).casefold() == same:
            raise ConfigurationError(
                f"{test} and {other} would have one cassette, {file.name}.",
                'Name one of them: @pytest.mark.toolkit_cassette("..."), or rename a test.',
                about="name",
            )
