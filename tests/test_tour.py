"""The tour: the same calls live and replayed, and the files that are shipped with it."""

from pathlib import Path

import toolkit as tk
from toolkit import tour
from toolkit.cassettes.leaks import scan
from toolkit.practice_service import practice


def test_the_shipped_cassette_replays_the_whole_tour() -> None:
    """Every step has an answer in the shipped cassette, with one token before the pause and one after."""
    path = tour.shipped("cassettes") / f"{tour.CASSETTE}.yaml"
    session = tk.Session(cassette=path, mode="none")
    tables = {step.title: table for step, table in tour.take(session)}
    assert set(tables) == {step.title for step in tour.STEPS}
    assert all(len(table) for table in tables.values())
    assert list(session.tokens()["state"]) == ["expired", "valid"]
    assert session.cassette is not None
    assert session.cassette.unplayed == []


def test_the_tour_runs_live_against_the_practice_service() -> None:
    """What the cassette was recorded from still answers in the same shape."""
    recorded = tk.Session(cassette=tour.shipped("cassettes") / f"{tour.CASSETTE}.yaml", mode="none")
    replayed = [list(table.columns) for _, table in tour.take(recorded)]
    with practice(accounts=3) as service:
        session = tk.Session(credentials=service.credentials["sandbox-secret"], settings=service.settings)
        assert [list(table.columns) for _, table in tour.take(session)] == replayed


def test_shipped_files_hold_no_secret() -> None:
    """Neither cassettes nor notebooks hold anything that looks like a credential."""
    assert scan([tour.shipped("cassettes"), tour.shipped("notebooks")]) == []


def test_the_shipped_notebook_is_there() -> None:
    """The notebook that `toolkit lab` opens exists."""
    assert (tour.shipped("notebooks") / tour.NOTEBOOK).is_file()


def test_no_cassette_is_left_half_recorded() -> None:
    """The cassettes folder holds no part of an interrupted recording."""
    assert not list(Path(tour.shipped("cassettes")).glob("*.part.yaml"))
