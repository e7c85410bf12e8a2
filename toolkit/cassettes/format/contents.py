"""What a cassette file holds when it is opened, whoever wrote it: its interactions by number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from toolkit.cassettes.format import fast_items, interactions, layout, vcrpy_layout
from toolkit.cassettes.format.interactions import Interaction
from toolkit.scrubbing.messages import RecordedRequest

if TYPE_CHECKING:
    import pandas as pd


class Contents(ABC):
    """Interactions of one file.

    Attributes:
        is_foreign: written by stock vcrpy: with real addresses, and without keys of ours.
        is_torn: it ends in an interaction whose writing was interrupted.
        recorded_at: when the first one was recorded; None without any.
        environments: names of the environments whose calls it holds, in order of appearance.
        last_token_number: the highest token number, 0 without any.
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
        """An interaction by its number, from 0.

        Raises:
            CassetteCorrupt: it cannot be read.
        """

    def head(self, number: int) -> RecordedRequest:
        """Its method and URI at least."""
        return self.interaction(number).request

    def table(self) -> pd.DataFrame:
        """One row each; `Cassette.table` names the columns."""
        import pandas as pd  # keeps pandas out of `import toolkit`

        rows = [self.interaction(number) for number in range(len(self))]
        columns: dict[str, Any] = {
            "recorded": pd.Series([row.recorded_at for row in rows], dtype="datetime64[us, UTC]"),
            "method": pd.Series([row.request.method for row in rows], dtype="str"),
            "uri": pd.Series([row.request.uri for row in rows], dtype="str"),
            "status": pd.Series([row.response.status for row in rows], dtype="int64"),
            "elapsed": pd.Series([row.elapsed and row.elapsed.total_seconds() for row in rows], dtype="float64"),
            "size": pd.Series([len(row.response.body) for row in rows], dtype="int64"),
            "profile": pd.Series([row.authorized_by and row.authorized_by.profile for row in rows], dtype="str"),
        }
        return pd.DataFrame(columns)


class Parsed(Contents):
    """Interactions that were read at once: of stock vcrpy, or of ours laid out anew by something else."""

    def __init__(self, interactions: Sequence[Interaction], *, is_foreign: bool) -> None:
        self._interactions = interactions
        self.is_foreign = is_foreign
        self.recorded_at = next((one.recorded_at for one in interactions), None)
        callers = [one.authorized_by for one in interactions if one.authorized_by]
        self.environments = list(dict.fromkeys(str(by.environment) for by in callers))
        obtained = [one.token_obtained for one in interactions if one.token_obtained]
        self.last_token_number = max((by.token or 0 for by in (*callers, *obtained)), default=0)
        self.token_requests = [number for number, one in enumerate(interactions) if one.token_obtained]

    def __len__(self) -> int:
        return len(self._interactions)

    def interaction(self, number: int) -> Interaction:
        return self._interactions[number]


class Unparsed(Contents):
    """Interactions laid out as we write them, each parsed when it is first asked for."""

    def __init__(self, found: layout.Layout, *, source: str) -> None:
        self.layout = found
        self.is_torn = found.is_torn
        self.recorded_at = layout.first_recorded_at(found)
        self.environments = layout.environments(found)
        self.last_token_number = layout.last_token_number(found)
        self.token_requests = layout.token_requests(found)
        self._source = source
        self._parsed: dict[int, Interaction] = {}

    def __len__(self) -> int:
        return len(self.layout.items)

    def interaction(self, number: int) -> Interaction:
        parsed = self._parsed.get(number)
        if parsed is None:
            data, item = self.layout.data, self.layout.items[number]
            piece = data[item.start : item.end]
            parsed = fast_items.decode(piece)
            if parsed is None:
                parsed = interactions.decode(piece, source=self._source, line=item.line)
            self._parsed[number] = parsed
        return parsed

    def head(self, number: int) -> RecordedRequest:
        head = layout.head(self.layout, number)
        return self.interaction(number).request if head is None else RecordedRequest(*head)


class UnparsedForeign(Contents):
    """Interactions in vcrpy's usual shape, each read when it is first asked for, as its loader reads them."""

    is_foreign = True

    def __init__(self, found: layout.Layout, *, source: str) -> None:
        self._layout = found
        self._source = source
        self._parsed: dict[int, Interaction] = {}
        self.environments = []
        self.last_token_number = 0
        self.token_requests = []
        self.recorded_at = self.interaction(0).recorded_at

    def __len__(self) -> int:
        return len(self._layout.items)

    def interaction(self, number: int) -> Interaction:
        parsed = self._parsed.get(number)
        if parsed is None:
            from toolkit.cassettes.format import vcrpy_files  # keeps yaml and vcr out of `import toolkit`

            data, item = self._layout.data, self._layout.items[number]
            parsed = vcrpy_files.load_item(data[item.start : item.end], source=self._source, line=item.line)
            head = vcrpy_layout.head(self._layout, number)
            if head is not None and head != (parsed.request.method, parsed.request.uri):
                raise interactions.corrupt(self._source, "an interaction is not what it looks like", line=item.line)
            self._parsed[number] = parsed
        return parsed

    def head(self, number: int) -> RecordedRequest:
        head = vcrpy_layout.head(self._layout, number)
        return self.interaction(number).request if head is None else RecordedRequest(*head)


def read(data: bytes, *, source: str) -> Contents:
    """The interactions in the bytes of a file.

    Args:
        source: the file, for messages; its suffix does not matter.

    Raises:
        CassetteCorrupt: it is no cassette; names file and, where it is known, line.
    """
    if not data.strip():
        return Parsed((), is_foreign=False)
    if not layout.is_ours(data):
        laid_out = vcrpy_layout.lay_out(data)
        if laid_out is not None:
            return UnparsedForeign(laid_out, source=source)
        from toolkit.cassettes.format import vcrpy_files  # keeps yaml and vcr out of `import toolkit`

        return Parsed(vcrpy_files.load(data, source=source), is_foreign=True)
    found = layout.lay_out(data)
    if found is not None:
        return Unparsed(found, source=source)
    return Parsed(interactions.decode_all(data, lambda top: top["interactions"], source=source), is_foreign=False)
