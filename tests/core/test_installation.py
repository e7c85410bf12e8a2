"""The command that installs an extra fits the way in which the toolkit was installed."""

from __future__ import annotations

import json

import pytest

from toolkit.core.installation import Installation, how_to_install


@pytest.fixture
def place(tmp_path):
    """Return a function that makes an installation: files in its environment, and where it came from."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "pyproject.toml").touch()

    def make(files=(), *, editable=None, is_windows=False, inside=False, program=str):
        for name, text in dict(files).items():
            (tmp_path / name).write_text(text)
        direct = {"url": checkout.as_uri(), "dir_info": {"editable": editable}} if editable is not None else None
        return Installation(
            prefix=tmp_path,
            direct_url=lambda: direct and json.dumps(direct),
            folder=checkout if inside else tmp_path,
            is_windows=is_windows,
            program=program,
        )

    return make


@pytest.mark.parametrize(
    ("files", "options", "command"),
    [
        ({}, {}, "pip install 'service-access-toolkit[lab]'"),
        ({"pyvenv.cfg": "home = /usr\n"}, {}, "pip install 'service-access-toolkit[lab]'"),
        ({"pyvenv.cfg": "home = /usr\nuv = 0.9.1\n"}, {}, "uv pip install 'service-access-toolkit[lab]'"),
        ({"uv-receipt.toml": ""}, {}, "uv tool install --force 'service-access-toolkit[lab]'"),
        (
            {"pipx_metadata.json": "{}"},
            {},
            "pipx inject service-access-toolkit 'service-access-toolkit[lab]'",
        ),
        ({}, {"is_windows": True}, 'py -m pip install "service-access-toolkit[lab]"'),
        ({}, {"editable": True, "inside": True}, "pip install -e '.[lab]'"),
        ({}, {"editable": False, "inside": True}, "pip install '.[lab]'"),
    ],
)
def test_command(place, files, options, command):
    """pip, uv, uv tool and pipx each have their command; a checkout is named as a folder."""
    assert place(files, **options).command("lab") == command


def test_environment_that_is_not_activated(place):
    """pip is named by its path if a shell would not find it."""
    command = "pip install 'service-access-toolkit[lab]'"
    assert place(program=lambda name: f".venv/bin/{name}").command("lab") == f".venv/bin/{command}"
    on_windows = place(is_windows=True, program=lambda name: rf".venv\Scripts\{name}").command("lab")
    assert on_windows == r'.venv\Scripts\pip install "service-access-toolkit[lab]"'


def test_constraints_of_a_checkout(place, tmp_path):
    """A checkout has the versions that its tests run with, and the command names them as the README does."""
    (tmp_path / "checkout" / ".ci").mkdir()
    (tmp_path / "checkout" / ".ci" / "constraints.txt").touch()
    assert place(editable=True, inside=True).command("lab") == "pip install -c .ci/constraints.txt -e '.[lab]'"
    file = tmp_path / "checkout" / ".ci" / "constraints.txt"
    command = f"pip install -c '{file.as_posix()}' -e '{tmp_path / 'checkout'}[lab]'"
    assert place(editable=True).command("lab") == command


def test_checkout_elsewhere(place, tmp_path):
    """From another folder the checkout is named by its path; one that is gone is not named."""
    assert place(editable=True).command("lab") == f"pip install -e '{tmp_path / 'checkout'}[lab]'"
    (tmp_path / "checkout" / "pyproject.toml").unlink()
    assert place(editable=True).command("lab") == "pip install 'service-access-toolkit[lab]'"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": 3, "dir_info": {}}', '{"url": "file:///x", "dir_info": 3}'])
def test_a_broken_note(tmp_path, text):
    """A broken `direct_url.json` counts as none."""
    place = Installation(prefix=tmp_path, direct_url=lambda: text, folder=tmp_path, is_windows=False, program=str)
    assert place.command("lab") == "pip install 'service-access-toolkit[lab]'"


def test_this_installation():
    """The hint names the extra and a command."""
    assert how_to_install("dask").startswith("Install the extra dask: ")
