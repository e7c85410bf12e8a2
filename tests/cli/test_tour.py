"""The tour: the same calls live and replayed, and the bundled recordings."""

import runpy
from collections.abc import Callable
from pathlib import Path

import toolkit as tk
from toolkit.cli import bundled
from toolkit.cli.bundled import FILES, bundled_folder
from toolkit.practice_service import practice

RECORDINGS: dict[str, Callable[[Path], None]] = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "cassettes" / "record.py"), run_name="record"
)["RECORDINGS"]


def test_bundled_cassette_replays_the_tour() -> None:
    """Every step has an answer in the bundled cassette, with one token before the pause and one after it."""
    path = bundled_folder("cassettes") / f"{bundled.TOUR_CASSETTE}.yaml"
    session = tk.Session(cassette=path, mode="none")
    tables = [table for _, table in bundled.take_tour(session)]
    assert len(tables) == 3
    assert all(map(len, tables))
    assert list(session.tokens()["state"]) == ["expired", "valid"]
    assert session.cassette is not None
    assert session.cassette.unplayed == []


def test_tour_runs_live() -> None:
    """The practice service still gives the tables that the cassette was recorded from."""
    recorded = tk.Session(cassette=bundled_folder("cassettes") / f"{bundled.TOUR_CASSETTE}.yaml", mode="none")
    replayed = [list(table.columns) for _, table in bundled.take_tour(recorded)]
    with practice(accounts=3) as service, service.session("sandbox-secret") as session:
        assert [list(table.columns) for _, table in bundled.take_tour(session)] == replayed


def test_script_knows_every_cassette() -> None:
    """The script records exactly the bundled cassettes, and together they are small."""
    assert {Path(name).stem for name in FILES["cassettes"]} == set(RECORDINGS)
    assert sum((bundled_folder("cassettes") / name).stat().st_size for name in FILES["cassettes"]) < 400_000
