"""Which file the cassette of a test is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_recording.plugin import get_default_cassette_name

from toolkit.core.errors import ConfigurationError
from toolkit.sharing.pytest_plugin import places


class TestShop:
    """A class of tests."""


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=40), st.booleans())
def test_names_of_pytest_recording(test, is_method):
    """Tests have the cassettes that pytest-recording gives them, so a project can move from one to the other."""
    own_class = TestShop if is_method else None
    assert places.file_name(test, own_class and own_class.__name__) == get_default_cassette_name(own_class, test)


@given(st.text(min_size=1, max_size=400))
def test_names_fit(test):
    """Every test has a file name that systems allow, and tests with long names have different ones."""
    name = places.file_name(test)
    assert len(name.encode("utf-8", "replace")) <= 200
    assert "/" not in name
    assert "\0" not in name
    long = "é" * 200
    assert places.file_name(f"{long}{test}") != places.file_name(f"{long}{test}x")


def test_default_file():
    """The cassette lies beside the module, in a folder of the module's name."""
    module = Path("/project/tests/test_shop.py")
    assert places.default_file(module, "test_buy") == Path("/project/tests/cassettes/test_shop/test_buy.yaml")


def test_chosen_file(settings, tmp_path):
    """A name is a cassette of the project, and a path starts in the folder of the test."""
    module = tmp_path / "tests" / "test_shop.py"
    assert places.chosen_file("tour", module, settings) == settings.cassettes_folder / "tour.yaml"
    assert places.chosen_file("data/tour.yaml", module, settings) == tmp_path / "tests" / "data" / "tour.yaml"
    assert places.chosen_file(tmp_path / "x.yaml", module, settings) == tmp_path / "x.yaml"


def test_failed_file():
    """The recording of a failed test lies beside the cassette."""
    assert places.failed_file(Path("a/test_x[1.5].yaml")) == Path("a/test_x[1.5].failed.yaml")


def test_settings_of_the_project(project, monkeypatch, tmp_path):
    """Settings are those of the project of the test, even if the test runs in another folder."""
    (project / "toolkit.toml").write_text('cassettes = "recordings"\n')
    (project / "tests").mkdir()
    monkeypatch.chdir(tmp_path)
    settings = places.project_settings(project / "tests" / "test_shop.py")
    assert settings.cassettes_folder == project / "recordings"


def test_shared_file():
    """Two tests whose names differ only in characters that files cannot have are refused, and told apart."""
    place = Path("cassettes/test_shop/test_buy[a-b].yaml")
    others = [("test_shop.py::test_buy[a-b]", place), ("test_shop.py::test_buy[a/b]", place)]
    with pytest.raises(ConfigurationError, match="would have one cassette"):
        places.refuse_shared(place, others[0][0], others)
    places.refuse_shared(place, others[0][0], others[:1])
