"""The interactions of a cassette file, by number, no matter which tool wrote the file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from toolkit.cassettes.format import fast_items, interactions, layout, vcrpy_layout
from toolkit.cassettes.format.interactions import Interaction, UnreadableInteraction, is_uri
from toolkit.core.errors import CassetteCorrupt
from toolkit.core.escaping import printable
from toolkit.scrubbing.messages import RecordedRequest

if TYPE_CHECKING:
    import pandas as pd


class Contents(ABC):
    """The interactions of one file.

    Attributes:
        is_foreign: True if stock vcrpy wrote the file: with real addresses, and without keys of ours.
        is_torn: True if the file ends in an incomplete interaction, left by an interrupted write.
        recorded_at: when the first interaction was recorded; None if there is none.
        environments: names of the environments whose calls are recorded, in order of appearance.
        last_token_number: the highest token number, 0 if there is none.
        token_requests: numbers of the interactions that are token requests.
    """

    is_foreign: bool = False
    is_torn: bool = False
    recorded_at: datetime | None
    environments: list[str]
    last_token_number: int
    token_requests: list[int]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def interaction(self, number: int) -> Interaction:
        """Return an interaction by its number, from 0.

        Raises:
            CassetteCorrupt: if it cannot be read.
        """

    def head(self, number: int) -> RecordedRequest:
        """Return a request with at least its method and URI."""
        return self.interaction(number).request

    def line(self, number: int) -> int | None:  # noqa: ARG002 - files that are split into items know it
        """Return the line on which an interaction begins, from 1, or None if it is not known."""
        return None

    def position(self, number: int) -> int:
        """Return the number of an interaction in the file, from 0."""
        return number

    def table(self) -> pd.DataFrame:
        """Return one row per interaction; `Cassette.table` documents the columns."""
        import pandas as pd

        def text(value: str | None) -> str | None:
            return value if value is None else printable(value)

        rows = [self.interaction(number) for number in range(len(self))]
        columns: dict[str, Any] = {
            "recorded": pd.Series([row.recorded_at for row in rows], dtype="datetime64[us, UTC]"),
            "method": pd.Series([text(row.request.method) for row in rows], dtype="str"),
            "uri": pd.Series([text(row.request.uri) for row in rows], dtype="str"),
            "status": pd.Series([row.response.status for row in rows], dtype="int64"),
            "elapsed": pd.Series([row.elapsed and row.elapsed.total_seconds() for row in rows], dtype="float64"),
            "size": pd.Series([len(row.response.body) for row in rows], dtype="int64"),
            "profile": pd.Series([text(row.authorized_by and row.authorized_by.profile) for row in rows], dtype="str"),
        }
        return pd.DataFrame(columns)


class Parsed(Contents):
    """Interactions that were parsed when the file was opened, because it has an unusual layout."""

    def __init__(self, interactions: Sequence[Interaction | UnreadableInteraction], *, is_foreign: bool) -> None:
        self._interactions = interactions
        self.is_foreign = is_foreign
        recorded = [interaction for interaction in interactions if isinstance(interaction, Interaction)]
        self.recorded_at = next((interaction.recorded_at for interaction in recorded), None)
        callers = [interaction.authorized_by for interaction in recorded if interaction.authorized_by]
        self.environments = list(dict.fromkeys(str(caller.environment) for caller in callers))
        obtained = [interaction.token_obtained for interaction in recorded if interaction.token_obtained]
        self.last_token_number = max((caller.token or 0 for caller in (*callers, *obtained)), default=0)
        self.token_requests = [
            number
            for number, interaction in enumerate(interactions)
            if isinstance(interaction, Interaction) and interaction.token_obtained
        ]

    def __len__(self) -> int:
        return len(self._interactions)

    def interaction(self, number: int) -> Interaction:
        interaction = self._interactions[number]
        if isinstance(interaction, UnreadableInteraction):
            raise interaction.error.with_traceback(None)
        return interaction

    def head(self, number: int) -> RecordedRequest:
        interaction = self._interactions[number]
        is_known = isinstance(interaction, UnreadableInteraction) and interaction.head is not None
        return interaction.head if is_known else super().head(number)  # type: ignore[return-value,union-attr]

    def line(self, number: int) -> int | None:
        interaction = self._interactions[number]
        return interaction.line if isinstance(interaction, UnreadableInteraction) else None


class ReadableContents(Contents):
    """The interactions of a file that can be read, with the errors of the others.

    Args:
        contents: the interactions of a file.

    Attributes:
        errors: why the others cannot be read, by their numbers.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.errors: dict[int, CassetteCorrupt] = {}
        for number in range(len(contents)):
            try:
                contents.interaction(number)
            except CassetteCorrupt as error:
                self.errors[number] = error
        self._numbers = [number for number in range(len(contents)) if number not in self.errors]
        self.is_foreign, self.is_torn, self.recorded_at = contents.is_foreign, contents.is_torn, contents.recorded_at
        self.environments, self.last_token_number = contents.environments, contents.last_token_number
        self.token_requests = [at for at, number in enumerate(self._numbers) if number in contents.token_requests]

    def __len__(self) -> int:
        return len(self._numbers)

    def interaction(self, number: int) -> Interaction:
        return self._contents.interaction(self._numbers[number])

    def line(self, number: int) -> int | None:
        return self._contents.line(self._numbers[number])

    def position(self, number: int) -> int:
        return self._numbers[number]


class _Lazy(Contents):
    """Interactions that are located when the file is opened, and parsed one by one when first needed."""

    def __init__(self, file_layout: layout.Layout, *, source: str) -> None:
        self.layout = file_layout
        self._source = source
        self._parsed: dict[int, Interaction] = {}

    def __len__(self) -> int:
        return len(self.layout.items)

    def interaction(self, number: int) -> Interaction:
        parsed = self._parsed.get(number)
        if parsed is None:
            item = self.layout.items[number]
            parsed = self._parsed[number] = self._parse(number, self.layout.data[item.start : item.end], item.line)
        return parsed

    def head(self, number: int) -> RecordedRequest:
        head = self._method_and_uri(number)
        if head is not None and is_uri(head[1]):
            return RecordedRequest(*head)
        return self.interaction(number).request

    def line(self, number: int) -> int | None:
        return self.layout.items[number].line

    @abstractmethod
    def _parse(self, number: int, item: bytes, line: int) -> Interaction: ...

    @abstractmethod
    def _method_and_uri(self, number: int) -> tuple[str, str] | None: ...


class Unparsed(_Lazy):
    """Interactions of a cassette of ours, laid out as the recorder writes them."""

    def __init__(self, file_layout: layout.Layout, *, source: str) -> None:
        super().__init__(file_layout, source=source)
        self.is_torn = file_layout.is_torn
        self.recorded_at = layout.first_recorded_at(file_layout)
        self.environments = layout.environments(file_layout)
        self.last_token_number = layout.last_token_number(file_layout)
        self.token_requests = layout.token_requests(file_layout)

    def _parse(self, number: int, item: bytes, line: int) -> Interaction:  # noqa: ARG002 - the foreign subclass needs it
        return fast_items.decode(item) or interactions.decode(item, source=self._source, line=line)

    def _method_and_uri(self, number: int) -> tuple[str, str] | None:
        return layout.head(self.layout, number)


class UnparsedForeign(_Lazy):
    """Interactions of a cassette of stock vcrpy, in vcrpy's usual layout."""

    is_foreign = True

    def __init__(self, file_layout: layout.Layout, *, source: str) -> None:
        super().__init__(file_layout, source=source)
        self.environments = []
        self.last_token_number = 0
        self.token_requests = []
        first = next((number for number in range(len(self)) if self._can_read(number)), 0)
        self.recorded_at = self.interaction(first).recorded_at

    def _can_read(self, number: int) -> bool:
        try:
            self.interaction(number)
        except CassetteCorrupt:
            return False
        return True

    def _parse(self, number: int, item: bytes, line: int) -> Interaction:
        from toolkit.cassettes.format import vcrpy_files

        parsed = vcrpy_files.load_item(item, source=self._source, line=line, number=number)
        head = self._method_and_uri(number)
        if head is not None and head != (parsed.request.method, parsed.request.uri):
            raise interactions.corrupt(self._source, "text in a body looks like a method and a URI", line=line)
        return parsed

    def _method_and_uri(self, number: int) -> tuple[str, str] | None:
        return vcrpy_layout.head(self.layout, number)


def read(data: bytes, *, source: str) -> Contents:
    """Return the interactions in the bytes of a file, which `source` names in messages.

    Raises:
        CassetteCorrupt: if it is not a cassette; names the file and, if known, the line.
    """
    if not data.strip():
        return Parsed((), is_foreign=False)
    if layout.is_ours(data):
        file_layout = layout.lay_out(data)
        if file_layout is not None:
            return Unparsed(file_layout, source=source)
        return Parsed(interactions.decode_all(data, lambda top: top["interactions"], source=source), is_foreign=False)
    file_layout = vcrpy_layout.lay_out(data)
    if file_layout is not None:
        return UnparsedForeign(file_layout, source=source)
    from toolkit.cassettes.format import vcrpy_files

    return Parsed(vcrpy_files.load(data, source=source), is_foreign=True)
