"""The script that records the bundled cassettes still gives what is in them."""

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolkit.cli.demo import bundled_files

RECORDINGS: dict[str, Callable[[Path], None]] = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "cassettes" / "record.py"), run_name="record"
)["RECORDINGS"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_recording_again_gives_the_same_story(name: str, tmp_path: Path) -> None:
    """Only durations, and the seconds at which calls were sent, may differ."""
    again = tmp_path / f"{name}.yaml"
    RECORDINGS[name](again)
    assert list(story(again)) == list(story(bundled_files() / "cassettes" / again.name))


def story(path: Path) -> Iterator[tuple[Any, ...]]:
    """Yield what each interaction requested and received, to the minute, and the token that authorized it."""
    for interaction in yaml.safe_load(path.read_text(encoding="utf-8"))["interactions"]:
        request, response = interaction["request"], interaction["response"]
        by = interaction.get("authorized_by") or interaction["token_obtained"]
        caller = (by["kind"], by["environment"], by["profile"], by.get("token"))
        sent_at = interaction["recorded_at"][: len("2026-11-20T16:30")]
        sent = (request["method"], request["uri"], request["body"])
        yield sent_at, *caller, *sent, response["status"]["code"], response["body"]["string"]
