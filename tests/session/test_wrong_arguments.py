"""Wrong arguments of every public function: each is an error of the toolkit that says what to do, and no secret."""

from __future__ import annotations

import inspect
import secrets
from enum import Enum
from pathlib import Path

import pandas as pd
import pytest
from forgetting import forget_everything

import toolkit as tk
from toolkit.cassettes.format.interactions import HEADER, encode

ANYTHING = (
    *(None, 3, -1, 0, 1.5, float("nan"), True, 10**400),
    *("", "nope", b"bytes", "a\0b", "x" * 5000, "é\ud800", Path("p"), Path("cassettes")),
    *([], {}, {"a": 1}, (), [None], object(), ..., tk.Session),
)
ROWS = [{"a": 1, "b": "x"}]
CREDENTIALS = tk.practice().credentials
BROKER = {"environment": "broker-live"}
# Arguments that take anything, or that only say how something is shown.
FREE = frozenset({"tabulate.data", "progress.label", "sweep.cluster", "publish.parameters"})
LAZY = frozenset({"pages", "progress"})  # they look at their arguments when the first item is taken
# A name or a path has to be shown, and so has the name of a column and of a media type.
SHOWN = (
    *("name", "path", "cassette", "cassettes", "folder", "source", "paths", "key", "records", "on", "to", "play_log"),
    *("into", "old", "new", "notebook", "data", "json_paths"),
)


def calls(session, settings):
    """Return public functions, each with arguments that are right, or wrong only in that a file is missing.

    The test replaces each argument in turn, those included that are not given here.
    """
    table, client = pd.DataFrame(ROWS), session.broker
    secret = tk.ClientSecret("c", "a-secret", **BROKER)
    return {
        "Session": (tk.Session, {"credentials": CREDENTIALS["sandbox-secret"], "settings": settings}),
        "Session.calls": (session.calls, {}),
        "Cassette": (tk.Cassette, {"path": "zz", "mode": "none"}),
        "Cassette.transport": (tk.Cassette("zz").transport, {}),
        "ClientKey": (tk.ClientKey, {"client_id": "c", "private_key": "key", **BROKER}),
        "ClientSecret": (tk.ClientSecret, {"client_id": "c", "client_secret": "a-secret", **BROKER}),
        "KeyPair": (tk.KeyPair, {"key_id": "a-key-id", "secret_key": "a-secret-key", "environment": "paper"}),
        "Environment": (tk.Environment, {"value": "paper"}),
        "Interface": (tk.Interface, {"value": "broker"}),
        "Retry": (tk.Retry, {}),
        "Rules": (tk.Rules, {}),
        "Settings": (tk.Settings, {}),
        "Settings.addresses": (lambda auth: tk.Settings({"auth": auth}), {}),
        "Settings.cassettes": (lambda cassettes: tk.Settings(cassettes=cassettes).cassettes_folder, {}),
        "Settings.load": (tk.Settings.load, {}),
        "Settings.address": (settings.address, {}),
        "check_cassettes": (tk.check_cassettes, {"cassettes": "a"}),
        "compare": (tk.compare, {"left": table, "right": table}),
        "compare_cassettes": (tk.compare_cassettes, {"old": "a", "new": "a"}),
        "drift": (tk.drift, {"cassette": "a", "session": session}),
        "import_cassette": (tk.import_cassette, {"source": "source.har", "name": "b"}),
        "lend": (tk.lend, {"session": session, "cluster": object()}),
        "list_cassettes": (tk.list_cassettes, {}),
        "pages": (tk.pages, {"client": client, "path": "/x"}),
        "panel": (tk.panel, {"environment": "paper", "settings": settings}),
        "practice": (tk.practice, {}),
        "practice.credentials": (lambda name: CREDENTIALS[name], {}),
        "progress": (tk.progress, {"items": [1]}),
        "prune_cassette": (tk.prune_cassette, {"cassette": "a", "numbers": 1}),
        "publish": (tk.publish, {"notebook": "missing.ipynb", "to": "out"}),
        "remove_credentials": (tk.remove_credentials, {"name": "x", "environment": "paper"}),
        "save_credentials": (tk.save_credentials, {"credentials": secret, "name": "name", "settings": settings}),
        "saved_credentials": (tk.saved_credentials, {}),
        "scan": (tk.scan, {"paths": []}),
        "schema": (tk.schema, {"table": table}),
        "scrub_cassette": (tk.scrub_cassette, {"cassette": "a"}),
        "sweep": (tk.sweep, {"client": client, "keys": [], "call": str, "into": "sweep"}),
        "tabulate": (tk.tabulate, {"data": ROWS}),
        "tabulate.dtypes": (lambda dtype: tk.tabulate(ROWS, dtypes={"a": dtype}), {}),
    }


@pytest.fixture
def session(settings, service, make_credentials, interaction, monkeypatch, tmp_path):
    """Return a session whose calls are answered in this process, in a project with one recording."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toolkit.toml").touch()
    (tmp_path / "cassettes").mkdir()
    (tmp_path / "cassettes" / "a.yaml").write_bytes(HEADER + encode(interaction("/a")) + encode(interaction("/b")))
    (tmp_path / "source.har").write_text('{"log": {"entries": []}}')
    return tk.Session(credentials=make_credentials("broker-sandbox"), settings=settings, transport=service)


def arguments_of(name, function, given):
    """Return the names of the arguments to replace."""
    if isinstance(function, type) and issubclass(function, Enum):
        return [*given]
    return [each for each in inspect.signature(function).parameters if f"{name}.{each}" not in FREE]


def problem_of(name, function, arguments, argument, secret):
    """Return what is wrong with the answer to a wrong argument, or nothing."""
    try:
        result = function(**arguments)
        if name in LAZY:
            next(iter(result), None)
    except tk.ToolkitError as error:
        is_said = error.what.endswith(".") and error.next_step and len(str(error)) < 1000
        is_shown = argument in SHOWN or f"{name}.{argument}" in SHOWN
        return "" if is_said and (is_shown or secret[:12] not in str(error)) else f"says {error}"
    except Exception as error:  # noqa: BLE001 - which is the finding
        return f"is a {type(error).__name__}: {error}"
    return ""


@pytest.mark.filterwarnings("ignore")
def test_wrong_arguments(session, settings):
    """Whatever is passed, the call works, or an error of the toolkit says what is wrong and what to do.

    A secret in the place of another argument is not in the message.
    """
    secret, problems = secrets.token_urlsafe(30), []
    for name, (function, given) in calls(session, settings).items():
        forget_everything()  # each error looks for all secrets, and every wrong argument may be one
        problems += [
            f"{name}({argument}={value!r:.40}) {problem:.200}"
            for argument in arguments_of(name, function, given)
            for value in (secret, *ANYTHING)
            if (problem := problem_of(name, function, {**given, argument: value}, argument, secret))
        ]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("call", "about", "meant"),
    [
        (lambda: tk.tabulate(ROWS, numbers="flaot"), "numbers", "float"),
        (lambda: tk.Cassette("zz", mode="oncee"), "mode", "once"),
        (lambda: tk.Environment("papr"), "environment", "paper"),
        (lambda: tk.Cassette("zz", match_on=["methd"]), "match_on", "method"),
        (lambda: CREDENTIALS["sandbox-secert"], "name", "sandbox-secret"),
        (lambda: tk.KeyPair("a-key-id", "a-secret-key", environment="paper", scheme="header"), "scheme", "headers"),
        (lambda: tk.Settings({"auht": "https://a.example"}), "addresses", "auth"),
    ],
)
def test_the_nearest_name_is_suggested(call, about, meant):
    """A misspelt name is a ValueError as well, for those who expect one; the error suggests what was meant."""
    with pytest.raises(tk.ConfigurationError) as caught:
        call()
    assert caught.value.about == about
    assert f"Did you mean {meant}?" in caught.value.next_step
