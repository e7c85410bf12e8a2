"""Wrong arguments of every public function: each is an error of the toolkit that says what to do, and no secret."""

from __future__ import annotations

import secrets
from pathlib import Path

import pandas as pd
import pytest

import toolkit as tk
from toolkit.cassettes.format.interactions import HEADER, encode

ANYTHING = (
    *(None, 3, -1, 0, 1.5, float("nan"), True, 10**400),
    *("", "nope", b"bytes", "a\0b", "x" * 5000, "é\ud800", Path("p"), Path("cassettes")),
    *([], {}, {"a": 1}, (), [None], object(), ..., tk.Session),
)
PAPER = {"environment": "paper"}
ROWS = [{"a": 1, "b": "x"}]
CREDENTIALS = tk.practice().credentials


class Scene:
    """What the functions need besides the wrong argument: sessions, a cassette and tables.

    Args:
        session: a session whose calls are answered in this process.
        settings: settings with all addresses.
    """

    def __init__(self, session, settings):
        self.session, self.settings = session, settings
        self.client, self.table = session.broker, pd.DataFrame(ROWS)

    def open(self, **options):
        credentials = CREDENTIALS["sandbox-secret"]
        return tk.Session(credentials=credentials, settings=self.settings, **options).broker


# Each line calls a public function with one argument that is wrong. Arguments that take anything are missing:
# the data of `tabulate`, the function of a sweep, the parameters of `accounts`.
CALLS = {
    "Session environment": lambda scene, value: tk.Session(value, settings=scene.settings),
    "Session credentials": lambda scene, value: tk.Session("paper", value, settings=scene.settings),
    "Session cassette": lambda scene, value: scene.open(cassette=value, mode="none"),
    "Session mode": lambda scene, value: scene.open(cassette="zz", mode=value),
    "Session settings": lambda scene, value: tk.Session(**PAPER, settings=value),
    "Session timeout": lambda scene, value: scene.open(timeout=value),
    "Session verify": lambda scene, value: scene.open(verify=value),
    "Session proxy": lambda scene, value: scene.open(proxy=value),
    "Session transport": lambda scene, value: scene.open(transport=value),
    "Session clock": lambda scene, value: scene.open(clock=value),
    "Session retry": lambda scene, value: scene.open(retry=value),
    "Session per_second": lambda scene, value: scene.open(per_second=value),
    "Session token_store": lambda scene, value: scene.open(token_store=value),
    "calls last": lambda scene, value: scene.session.calls(last=value),
    "Cassette path": lambda scene, value: tk.Cassette(value, "none"),
    "Cassette mode": lambda scene, value: tk.Cassette("zz", value),
    "Cassette match_on": lambda scene, value: tk.Cassette("zz", match_on=value),
    "Cassette secrets": lambda scene, value: tk.Cassette("zz", secrets=value),
    "Cassette strict": lambda scene, value: tk.Cassette("zz", strict=value),
    "Cassette rules": lambda scene, value: tk.Cassette("zz", rules=value),
    "Cassette settings": lambda scene, value: tk.Cassette("zz", settings=value),
    "Cassette transport": lambda scene, value: tk.Cassette("zz").transport(value),
    "ClientKey client_id": lambda scene, value: tk.ClientKey(value, "key", environment="broker-live"),
    "ClientKey private_key": lambda scene, value: tk.ClientKey("c", value, environment="broker-live"),
    "ClientSecret client_id": lambda scene, value: tk.ClientSecret(value, "a-secret", environment="broker-live"),
    "ClientSecret secret": lambda scene, value: tk.ClientSecret("c", value, environment="broker-live"),
    "ClientSecret environment": lambda scene, value: tk.ClientSecret("c", "a-secret", environment=value),
    "ClientSecret name": lambda scene, value: tk.ClientSecret("c", "a-secret", environment="broker-live", name=value),
    "ClientSecret form": lambda scene, value: tk.ClientSecret(
        "c", "a-secret", environment="broker-live", form_fields=value
    ),
    "KeyPair key_id": lambda scene, value: tk.KeyPair(value, "a-secret-key", **PAPER),
    "KeyPair secret_key": lambda scene, value: tk.KeyPair("a-key-id", value, **PAPER),
    "KeyPair scheme": lambda scene, value: tk.KeyPair("a-key-id", "a-secret-key", **PAPER, scheme=value),
    "Environment": lambda scene, value: tk.Environment(value),
    "Interface": lambda scene, value: tk.Interface(value),
    "Retry tries": lambda scene, value: tk.Retry(tries=value),
    "Retry within": lambda scene, value: tk.Retry(within=value),
    "Rules names": lambda scene, value: tk.Rules(names=value),
    "Rules json_paths": lambda scene, value: tk.Rules(json_paths=value),
    "Rules patterns": lambda scene, value: tk.Rules(patterns=value),
    "Rules pseudonyms": lambda scene, value: tk.Rules(pseudonyms=value),
    "Rules key": lambda scene, value: tk.Rules(key=value),
    "Settings addresses": lambda scene, value: tk.Settings(value),
    "Settings address": lambda scene, value: tk.Settings({"auth": value}),
    "Settings header_prefix": lambda scene, value: tk.Settings(header_prefix=value),
    "Settings cassettes": lambda scene, value: tk.Settings(cassettes=value).cassettes_folder,
    "Settings project": lambda scene, value: tk.Settings(project=value).cassettes_folder,
    "Settings scrubbing": lambda scene, value: tk.Settings(scrubbing=value),
    "Settings scan": lambda scene, value: tk.Settings(scan=value),
    "Settings publish": lambda scene, value: tk.Settings(publish=value),
    "Settings stale_after": lambda scene, value: tk.Settings(stale_after=value),
    "Settings sources": lambda scene, value: tk.Settings(sources=value),
    "Settings.load path": lambda scene, value: tk.Settings.load(value),
    "Settings.load environ": lambda scene, value: tk.Settings.load(environ=value),
    "Settings.address name": lambda scene, value: scene.settings.address(value),
    "check_cassettes": lambda scene, value: tk.check_cassettes(value),
    "check_cassettes play_log": lambda scene, value: tk.check_cassettes("a", play_log=value),
    "check_cassettes settings": lambda scene, value: tk.check_cassettes("a", settings=value),
    "check_cassettes clock": lambda scene, value: tk.check_cassettes("a", clock=value),
    "compare left": lambda scene, value: tk.compare(value, scene.table),
    "compare right": lambda scene, value: tk.compare(scene.table, value),
    "compare on": lambda scene, value: tk.compare(scene.table, scene.table, on=value),
    "compare_cassettes old": lambda scene, value: tk.compare_cassettes(value, "a"),
    "compare_cassettes new": lambda scene, value: tk.compare_cassettes("a", value),
    "drift cassette": lambda scene, value: tk.drift(value, scene.session),
    "drift session": lambda scene, value: tk.drift("a", value),
    "import_cassette source": lambda scene, value: tk.import_cassette(value, "b"),
    "import_cassette name": lambda scene, value: tk.import_cassette("source.har", value),
    "import_cassette environment": lambda scene, value: tk.import_cassette("source.har", "b", environment=value),
    "import_cassette only": lambda scene, value: tk.import_cassette("source.har", "b", only=value),
    "import_cassette secrets": lambda scene, value: tk.import_cassette("source.har", "b", secrets=value),
    "import_cassette rules": lambda scene, value: tk.import_cassette("source.har", "b", rules=value),
    "import_cassette replace": lambda scene, value: tk.import_cassette("source.har", "b", replace=value),
    "lend session": lambda scene, value: tk.lend(value, object()),
    "list_cassettes": lambda scene, value: tk.list_cassettes(value),
    "list_cassettes settings": lambda scene, value: tk.list_cassettes(settings=value),
    "list_cassettes clock": lambda scene, value: tk.list_cassettes(clock=value),
    "pages client": lambda scene, value: iter(tk.pages(value, "/x")),
    "pages path": lambda scene, value: list(tk.pages(scene.client, value)),
    "pages params": lambda scene, value: list(tk.pages(scene.client, "/x", params=value)),
    "pages cursor": lambda scene, value: list(tk.pages(scene.client, "/x", cursor=value)),
    "panel environment": lambda scene, value: tk.panel(value, settings=scene.settings),
    "panel credentials": lambda scene, value: tk.panel("paper", value, settings=scene.settings),
    "panel cassette": lambda scene, value: tk.panel("paper", cassette=value, settings=scene.settings),
    "panel settings": lambda scene, value: tk.panel(settings=value),
    "practice accounts": lambda scene, value: tk.practice(accounts=value),
    "practice token_validity": lambda scene, value: tk.practice(token_validity=value),
    "practice delay": lambda scene, value: tk.practice(delay=value),
    "practice rate_limit": lambda scene, value: tk.practice(rate_limit=value),
    "practice port": lambda scene, value: tk.practice(port=value),
    "practice clock": lambda scene, value: tk.practice(clock=value),
    "practice credentials": lambda scene, value: CREDENTIALS[value],
    "progress items": lambda scene, value: list(tk.progress(value)),
    "progress total": lambda scene, value: list(tk.progress([1], total=value)),
    "prune_cassette": lambda scene, value: tk.prune_cassette(value, 1),
    "prune_cassette numbers": lambda scene, value: tk.prune_cassette("a", value),
    "prune_cassette method": lambda scene, value: tk.prune_cassette("a", method=value),
    "prune_cassette uri": lambda scene, value: tk.prune_cassette("a", uri=value),
    "prune_cassette play_log": lambda scene, value: tk.prune_cassette("a", play_log=value),
    "prune_cassette dry_run": lambda scene, value: tk.prune_cassette("a", 1, dry_run=value),
    "publish notebook": lambda scene, value: tk.publish(value, "out"),
    "publish to": lambda scene, value: tk.publish("missing.ipynb", value),
    "publish timeout": lambda scene, value: tk.publish("missing.ipynb", "out", timeout=value),
    "publish replace": lambda scene, value: tk.publish("missing.ipynb", "out", replace=value),
    "publish watch": lambda scene, value: tk.publish("missing.ipynb", "out", watch=value),
    "remove_credentials": lambda scene, value: tk.remove_credentials(value, "paper"),
    "remove_credentials environment": lambda scene, value: tk.remove_credentials("x", value),
    "save_credentials": lambda scene, value: tk.save_credentials(value, "name", settings=scene.settings),
    "save_credentials name": lambda scene, value: tk.save_credentials(
        tk.ClientSecret("c", "a-secret", environment="broker-live"), value, settings=scene.settings
    ),
    "save_credentials settings": lambda scene, value: tk.save_credentials(CREDENTIALS["paper"], "x", settings=value),
    "saved_credentials settings": lambda scene, value: tk.saved_credentials(settings=value),
    "saved_credentials environ": lambda scene, value: tk.saved_credentials(environ=value),
    "scan": lambda scene, value: tk.scan(value),
    "scan secrets": lambda scene, value: tk.scan([], secrets=value),
    "schema": lambda scene, value: tk.schema(value),
    "scrub_cassette": lambda scene, value: tk.scrub_cassette(value, dry_run=True),
    "scrub_cassette rules": lambda scene, value: tk.scrub_cassette("a", rules=value, dry_run=True),
    "scrub_cassette dry_run": lambda scene, value: tk.scrub_cassette("a", dry_run=value),
    "sweep client": lambda scene, value: tk.sweep(value, ["a"], str, into="sweep-1"),
    "sweep keys": lambda scene, value: tk.sweep(scene.client, value, None, into="sweep-2"),
    "sweep call": lambda scene, value: (
        None if callable(value) else tk.sweep(scene.client, ["a"], value, into="sweep-3")
    ),
    "sweep into": lambda scene, value: tk.sweep(scene.client, ["a"], None, into=value),
    "tabulate": lambda scene, value: tk.tabulate(value),
    "tabulate numbers": lambda scene, value: tk.tabulate(ROWS, numbers=value),
    "tabulate dtypes": lambda scene, value: tk.tabulate(ROWS, dtypes=value),
    "tabulate dtype": lambda scene, value: tk.tabulate(ROWS, dtypes={"a": value}),
    "tabulate records": lambda scene, value: tk.tabulate(ROWS, records=value),
    "tabulate key": lambda scene, value: tk.tabulate(ROWS, key=value),
    "tabulate schema": lambda scene, value: tk.tabulate(ROWS, schema=value),
}
# A name or a path has to be shown, and so has the name of a column and of a media type.
SHOWN = (
    *("name", "path", "cassette", "folder", "source", "scan", "key", "records", "on", "to", "play_log", "into"),
    *("old", "new", "notebook", "tabulate"),
)


@pytest.fixture
def scene(settings, service, make_credentials, interaction, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    (tmp_path / "toolkit.toml").touch()
    (tmp_path / "cassettes").mkdir()
    (tmp_path / "cassettes" / "a.yaml").write_bytes(HEADER + encode(interaction("/a")) + encode(interaction("/b")))
    (tmp_path / "source.har").write_text('{"log": {"entries": []}}')
    credentials = make_credentials("broker-sandbox")
    return Scene(tk.Session(credentials=credentials, settings=settings, transport=service), settings)


def error_of(name, scene, value):
    """Return the error of a call, or None; an error that is not the toolkit's is raised."""
    try:
        CALLS[name](scene, value)
    except tk.ToolkitError as error:
        return error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments(name, scene):
    """Whatever is passed, the call works, or an error of the toolkit says what is wrong and what to do.

    A secret in the place of another argument is not in the message.
    """
    secret = secrets.token_urlsafe(30)
    is_shown = any(word in name.split()[-1] for word in SHOWN)
    for value in (secret, *ANYTHING):
        error = error_of(name, scene, value)
        assert is_shown or secret[:12] not in str(error)
        if error is not None:
            assert error.what.endswith("."), value
            assert error.next_step, value
            assert len(str(error)) < 1000, value


@pytest.mark.parametrize(
    ("call", "about", "meant"),
    [
        (lambda: tk.tabulate(ROWS, numbers="flaot"), "numbers", "float"),
        (lambda: tk.Cassette("zz", mode="oncee"), "mode", "once"),
        (lambda: tk.Environment("papr"), "environment", "paper"),
        (lambda: tk.panel(environment="papr"), "environment", "paper"),
        (lambda: tk.Cassette("zz", match_on=["methd"]), "match_on", "method"),
        (lambda: CREDENTIALS["sandbox-secert"], "name", "sandbox-secret"),
        (lambda: tk.KeyPair("a-key-id", "a-secret-key", **PAPER, scheme="header"), "scheme", "headers"),
        (lambda: tk.Settings({"auht": "https://a.example"}), "auht", "auth"),
    ],
)
def test_the_nearest_name_is_suggested(call, about, meant, scene):
    """A misspelt name is a ValueError as well, for those who expect one; the error suggests what was meant."""
    with pytest.raises(tk.ConfigurationError) as caught:
        call()
    assert caught.value.about == about
    assert f"Did you mean {meant}?" in caught.value.next_step


@pytest.mark.parametrize(
    "wrong",
    [
        {"at_once": 0},
        {"at_once": 10**400},
        {"at_once": "x"},
        {"numbers": "flaot"},
        {"records": 3},
        {"schema": []},
        {"cursor": 3},
    ],
    ids=repr,
)
def test_wrong_arguments_of_a_sweep(wrong, scene):
    """A sweep checks its arguments before it writes anything."""
    with pytest.raises(tk.ToolkitError) as caught:
        tk.sweep(scene.client, ["a"], str, into="sweep", **wrong)
    assert caught.value.about in wrong
    assert not Path("sweep").exists()
