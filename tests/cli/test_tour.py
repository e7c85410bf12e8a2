"""The tour: the same calls live and replayed, and the recordings that are shipped."""

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import toolkit as tk
from toolkit.cli.bundled import CASSETTES, shipped
from toolkit.cli.main import tour
from toolkit.practice_service import practice

RECORDINGS: dict[str, Callable[[Path], None]] = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "cassettes" / "record.py"), run_name="record"
)["RECORDINGS"]


def test_the_shipped_cassette_replays_the_whole_tour() -> None:
    """Every step has an answer in the shipped cassette, with one token before the pause and one after."""
    path = shipped("cassettes") / f"{tour.CASSETTE}.yaml"
    session = tk.Session(cassette=path, mode="none")
    tables = {step.title: table for step, table in tour.take(session)}
    assert set(tables) == {step.title for step in tour.STEPS}
    assert all(len(table) for table in tables.values())
    assert list(session.tokens()["state"]) == ["expired", "valid"]
    assert session.cassette is not None
    assert session.cassette.unplayed == []


def test_the_tour_runs_live_against_the_practice_service() -> None:
    """What the cassette was recorded from still answers in the same shape."""
    recorded = tk.Session(cassette=shipped("cassettes") / f"{tour.CASSETTE}.yaml", mode="none")
    replayed = [list(table.columns) for _, table in tour.take(recorded)]
    with practice(accounts=3) as service:
        session = tk.Session(credentials=service.credentials["sandbox-secret"], settings=service.settings)
        assert [list(table.columns) for _, table in tour.take(session)] == replayed


def test_each_shipped_cassette_can_be_recorded_anew() -> None:
    """The script knows every cassette there is, and no other; together they are small."""
    assert {Path(name).stem for name in CASSETTES} == set(RECORDINGS)
    assert sum((shipped("cassettes") / name).stat().st_size for name in CASSETTES) < 100_000


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_made_again_tells_the_same_story(name: str, tmp_path: Path) -> None:
    """Only how long calls took, down to the second of when they were sent, may differ."""
    again = tmp_path / f"{name}.yaml"
    RECORDINGS[name](again)
    assert list(story(again)) == list(story(shipped("cassettes") / again.name))


def story(path: Path) -> Iterator[tuple[Any, ...]]:
    """What each interaction asked and got, to the minute, with whose token."""
    for one in yaml.safe_load(path.read_text(encoding="utf-8"))["interactions"]:
        request, response = one["request"], one["response"]
        by = one.get("authorized_by") or one["token_obtained"]
        who = (by["kind"], by["environment"], by["profile"], by.get("token"))
        sent_at = one["recorded_at"][: len("2026-11-20T16:30")]
        asked = (request["method"], request["uri"], request["body"])
        yield sent_at, *who, *asked, response["status"]["code"], response["body"]["string"]
