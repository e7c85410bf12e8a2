"""List the cassettes in a folder, and return their interactions as tables or one by one."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents, read_bytes
from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.recording.recorder import scrub, todays_scrubber
from toolkit.cassettes.replay import differences
from toolkit.cassettes.selection import find_cassette
from toolkit.core.errors import CassetteCorrupt, CassetteError, ConfigurationError, SecretLeak, as_count
from toolkit.core.ledger import EPOCH, Clock, as_clock
from toolkit.core.text import count_text, date_text, excerpt, masked, printable
from toolkit.local.files import UnfitFile, expanded, read_file
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_value
from toolkit.scrubbing.scrubber import Scrubber

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES: Final = (".yaml", ".yml", ".json")
EXCERPT: Final = 2_000  # characters of a body
_LONGEST_URI, _LONGEST_VALUE = 2_000, 500  # characters
# What cassettes of vcrpy and of most other recorders contain.
_SIGN: Final = re.compile(rb"""(?m)^(?:\xef\xbb\xbf)?(?:http_)?interactions:|["'](?:http_)?interactions["']""")
# Types of the non-text columns in all tables of the catalog.
_TYPES: Final = {
    **dict.fromkeys(("interactions", "size", "number", "status", "count"), "int64"),
    "recorded": "datetime64[us, UTC]",
    "elapsed": "float64",
    "stale": "bool",
    **dict.fromkeys(("line", "interaction", "old", "new"), "Int64"),
}


def try_to_read(path: Path) -> tuple[Contents, CassetteError | None]:
    """Return the interactions of a file, and the error if it cannot be read as a cassette (else None)."""
    try:
        opened = contents.read(read_bytes(path), source=str(path))
    except CassetteError as error:
        return Contents(source=str(path)), error
    if opened.raw.strip():
        return opened, None
    what = f"{path} is empty." if path.exists() else f"{path} is a link to a file that does not exist."
    return opened, CassetteError(what, "Delete it, or record it again.")


def list_cassettes(
    folder: str | Path | None = None, *, settings: Settings | None = None, clock: Clock | None = None
) -> pd.DataFrame:
    """Return the recordings in a folder and its subfolders, one row each.

    Args:
        folder: defaults to the project's cassettes folder.
        settings: defaults to the project's settings.
        clock: used to decide which recordings are stale; defaults to the system clock.

    Returns:
        Sorted by path:
            name (str): name or path to open the file with.
            environments (str): names of the environments that were called, separated by commas.
            interactions (int64): number of interactions.
            recorded (datetime64[us, UTC]): when the first interaction was recorded; missing if unknown.
            stale (bool): whether the recording is at least as old as `stale_after` in toolkit.toml.
            size (int64): size of the file in bytes.
            written_by (str): "toolkit" or "vcrpy"; missing if the file cannot be read as a cassette.
            problem (str): why the file cannot be read as a cassette; missing if it can be read.

    Raises:
        ConfigurationError: if the folder does not exist.
    """
    settings = as_settings(settings)
    now = as_clock(clock).now()
    rows = []
    for path in cassettes_in(settings.cassettes_folder if folder is None else expanded(folder, about="folder")):
        opened, problem = try_to_read(path)
        recorded = None if opened.recorded_at == EPOCH else opened.recorded_at
        stale = staleness_text(path, opened.recorded_at, settings.stale_after_days, now) is not None
        size = path.stat().st_size if path.is_file() else 0
        written_by = None if problem else "vcrpy" if opened.is_foreign else "toolkit"
        called = ", ".join(opened.environments) or None
        what = problem and problem.what
        rows.append((name_of(path, settings), called, len(opened), recorded, stale, size, written_by, what))
    return frame_of("name environments interactions recorded stale size written_by problem", rows)


def staleness_text(path: Path, recorded_at: datetime | None, stale_after: int | None, now: datetime) -> str | None:
    """Return a sentence about a recording that is at least `stale_after` days old; None if it is not stale."""
    if recorded_at in (None, EPOCH) or stale_after is None or now - recorded_at < timedelta(days=stale_after):
        return None
    return (
        f"{path.name} was recorded on {date_text(recorded_at)}, {count_text((now - recorded_at).days, 'day')} ago, "
        f"and counts as stale after {count_text(stale_after, 'day')} (stale_after in toolkit.toml)."
    )


def name_of(path: Path, settings: Settings) -> str:
    """Return the name of a file in the project's cassettes folder, or the path of any other file."""
    if path.suffix == ".yaml" and "." not in path.stem and path.absolute().parent == settings.cassettes_folder:
        return path.stem
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def cassettes_in(folder: Path) -> list[Path]:
    """Return the cassettes in a folder and its subfolders, sorted; hidden files and folders are left out."""
    if not folder.is_dir():
        what = f"The folder {folder} does not exist."
        raise ConfigurationError(what, "Record something first, or pass another folder.", about="folder")
    files = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        paths = (Path(where, name) for name in names if not name.startswith("."))
        files += [path for path in paths if path.suffix in ("", *SUFFIXES) and _may_be_cassette(path)]
    return sorted(files)


def cassettes_at(place: str | Path | None, settings: Settings) -> list[Path]:
    """Return the cassettes that a folder, a file or a name refers to; if None, the project's cassettes."""
    path = settings.cassettes_folder if place is None else expanded(place, about="cassettes")
    if place is None or path.is_dir():
        return cassettes_in(path)
    return [path] if path.is_file() and not path.suffix else [find_cassette(place, settings)]


def _may_be_cassette(path: Path) -> bool:
    try:
        data = read_file(path)
    except UnfitFile:
        return False
    except OSError:
        return True  # reading it raises an error that says why
    is_empty = path.suffix != "" and not data.strip()
    return is_empty or contents.is_ours(data) or _SIGN.search(data) is not None


def read_cassette(cassette: str | Path, settings: Settings | None = None) -> Contents:
    """Return the interactions of a cassette, given by name or path."""
    path = find_cassette(cassette, settings)
    data = read_bytes(path)
    if not data.strip():
        raise differences.missing(path, settings, to_record="list the existing cassettes with toolkit cassettes list")
    return contents.read(data, source=str(path))


def as_numbers(numbers: int | Iterable[int], count: int) -> set[int]:
    """Convert one-based interaction numbers to zero-based ones, for a recording with `count` interactions."""
    several = numbers if isinstance(numbers, Iterable) else (numbers,)
    return {as_count(number, about="numbers", least=1, most=count) - 1 for number in several}


def frame_of(names: str, rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Return rows as a DataFrame; `names` are its column names, separated by spaces."""
    import pandas as pd

    columns = [(name, [row[at] for row in rows]) for at, name in enumerate(names.split())]
    return pd.DataFrame({name: pd.Series(values, dtype=_TYPES.get(name, "str")) for name, values in columns})


def table_of(opened: Contents, numbers: Iterable[int], scrubber: Scrubber | None) -> pd.DataFrame:
    """Return interactions, given by zero-based numbers, as rows with `number` and the columns of `Cassette.table()`."""
    names = "number recorded method uri status elapsed size profile"
    rows = [row_of(opened, number, scrubber) for number in numbers]
    return frame_of(names, [[None if row[name] == "" else row[name] for name in names.split()] for row in rows])


def row_of(opened: Contents, number: int, scrubber: Scrubber | None) -> dict[str, Any]:
    """Return one interaction, by its zero-based number, as a row; given a scrubber, as it would be recorded today.

    All strings are safe to show. The members are: `number` (from 1), `recorded`, `method`, `uri`, `status` (599 if no
    answer came), `failure` (why no answer came, or ""), `elapsed` (seconds), `size` (bytes of the response body),
    `environment` and `profile` (the caller's, or ""), `token` (number of the token, or None), `is_token_request`, and
    `problem` (why the interaction cannot be read, or ""). If there is a problem, only the request is known.
    """
    interaction, problem = opened.interaction_or_error(number), ""
    if isinstance(interaction, CassetteCorrupt):
        problem = interaction.what
        interaction = Interaction(RecordedRequest(*opened.head(number)[:2]), RecordedResponse(0))
    head = safe_to_show(interaction, scrubber).request if scrubber else interaction.request
    caller, obtained = interaction.authorized_by, interaction.token_obtained
    either = caller or obtained
    return {
        "number": number + 1,
        "recorded": None if interaction.recorded_at == EPOCH else interaction.recorded_at,
        "method": excerpt(head.method, 40),
        "uri": excerpt(head.uri, _LONGEST_URI),
        "status": interaction.response.status,
        "failure": interaction.failure.type if interaction.failure else "",
        "elapsed": None if interaction.elapsed is None else interaction.elapsed.total_seconds(),
        "size": len(interaction.response.body),
        "environment": str(either.environment) if either else "",
        "profile": excerpt(caller.profile, _LONGEST_VALUE) if caller else "",
        "token": either.token if either else None,
        "is_token_request": obtained is not None,
        "problem": problem,
    }


def messages_of(interaction: Interaction, scrubber: Scrubber, characters: int = EXCERPT) -> dict[str, dict[str, Any]]:
    """Return the `request` and `response` of an interaction as they would be recorded today.

    Each has `headers` (pairs), `body` (its beginning as text, decompressed; JSON with one member per line), `size`
    (bytes of the body as recorded), and `is_cut` (whether `body` was cut off).
    """
    safe, shown = safe_to_show(interaction, scrubber), {}
    for name in ("request", "response"):
        (headers, body), size = getattr(safe, name)[2:4], len(getattr(interaction, name).body)
        text = _text_of(headers, body) if body else ("" if not size else f"{size:,} bytes that cannot be shown safely")
        text = masked(printable(text))
        pairs = [(excerpt(key, _LONGEST_VALUE), excerpt(value, _LONGEST_VALUE)) for key, value in headers]
        shown[name] = {"headers": pairs, "body": text[:characters], "size": size, "is_cut": len(text) > characters}
    return shown


def _text_of(headers: HeaderList, body: bytes) -> str:
    try:
        text = decompress_body(headers, body).decode("utf-8")
    except (SecretLeak, UnicodeDecodeError):
        kind = header_value(headers, "content-type")
        return f"{len(body):,} bytes{f' of {excerpt(kind, 80)}' if kind else ''}"
    try:
        # Numbers stay as they are written: 1.10, not 1.1.
        laid_out = json.dumps(json.loads(text, parse_float="\ue000{}\ue001".format), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
    return laid_out.replace('"\ue000', "").replace('\ue001"', "")


def scrubber_to_show(settings: Settings, *recordings: Contents) -> Scrubber:
    """Return a scrubber that knows the secrets in recordings that were not scrubbed, so that none of them is shown."""
    scrubber = todays_scrubber(settings)
    for interaction in (each for opened in recordings if opened.is_foreign for each in opened.readable().values()):
        with suppress(SecretLeak):
            scrub(interaction, scrubber)
    return scrubber


def safe_to_show(interaction: Interaction, scrubber: Scrubber) -> Interaction:
    """Return an interaction as it would be recorded today. A body that cannot be checked is left out."""
    try:
        return scrub(interaction, scrubber)
    except SecretLeak:
        request, response = interaction.request._replace(body=b""), interaction.response._replace(body=b"")
        return scrub(interaction._replace(request=request, response=response), scrubber)
