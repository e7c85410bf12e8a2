"""The catalog from Python: lists, checks, prunes and scrubs the recordings of a project."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime

import httpx
import pytest
from forgetting import forget_everything
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock
from recordings import paths_in
from stock_recordings import vcrpy_text
from typer.testing import CliRunner

import toolkit as tk
from toolkit.cassettes.catalog.rewriting import rescrubbed
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import HEADER, MARKER, encode
from toolkit.cassettes.recording.recorder import Recorder, todays_scrubber
from toolkit.cli.cassettes_command import app
from toolkit.core.errors import CassetteBusy, ConfigurationError
from toolkit.local.settings import Settings
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scrubber import Scrubber

NOON = datetime(2026, 11, 8, 12, tzinfo=UTC)  # 180 days after the recordings of these tests


@pytest.fixture
def folder(tmp_path):
    """Return the cassettes folder of a project."""
    (tmp_path / "cassettes").mkdir()
    return tmp_path / "cassettes"


@pytest.fixture
def own(tmp_path):
    """Return the settings of the project, in which recordings are stale after 180 days."""
    return Settings(project=tmp_path, stale_after="180d")


@pytest.fixture
def write(folder):
    """Return a function that writes interactions to a cassette of the project."""

    def write(name, *interactions, tail=b""):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(HEADER + b"".join(map(encode, interactions)) + tail)
        return file

    return write


def write_vcrpy(file, *uris, **parts):
    """Write a cassette as stock vcrpy does, with everything in clear."""
    file.write_text(vcrpy_text(*(uris or ["https://api.example/a"]), **parts))
    return file


def test_list(write, folder, own, interaction, authorization):
    """Each recording is one row, by name; other files are left out, and unreadable ones say why."""
    write("a.yaml", interaction(authorized_by=authorization()), interaction(at=60), tail=b"- request:\n    meth")
    write("sub/b.yaml", interaction())
    write_vcrpy(folder / "c.yml")
    (folder / "empty.yaml").touch()
    (folder / "broken.yaml").write_text("interactions: [")
    (folder / "notes.yaml").write_text("a: interactions")
    table = tk.list_cassettes(settings=own, clock=ManualClock(NOON))
    names = [name.rpartition("cassettes/")[2] for name in table["name"]]
    assert names == ["a", "broken", "c.yml", "empty", "sub/b.yaml"]
    first = table.iloc[0]
    assert first[["environments", "interactions", "written_by"]].tolist() == ["broker-sandbox", 2, "toolkit"]
    assert first["recorded"].isoformat() == "2026-05-12T09:30:00+00:00"
    assert table["stale"].tolist() == [True, False, False, False, True]
    assert table["written_by"].isna().tolist() == [False, True, False, True, False]
    assert "broken.yaml" in table["problem"][1]
    assert "is empty" in table["problem"][3]
    with pytest.raises(ConfigurationError, match="missing does not exist"):
        tk.list_cassettes(folder / "missing", settings=own)


def test_check_finds_what_is_wrong(write, folder, own, interaction):
    """Each kind of problem is found in its file and on its line, without the secret, and nothing is changed."""
    clock = ManualClock(datetime(2026, 5, 13, tzinfo=UTC))
    token = secrets.token_urlsafe(30)
    write("clean.yaml", interaction())
    write("torn.yaml", interaction(), tail=b"- request:\n    method: GET\n")
    (folder / "corrupt.yaml").write_bytes(MARKER + b"interactions: 5\n")
    (folder / "empty.yaml").touch()
    write_vcrpy(folder / "leak.yaml", headers={"Authorization": [f"Bearer {token}"]})
    before = {file: file.read_bytes() for file in folder.iterdir()}
    table = tk.check_cassettes(settings=own, clock=clock)
    by_file = dict(iter(table.groupby("name")))
    assert "clean" not in by_file
    assert [[*by_file[name]["kind"]] for name in ("torn", "corrupt", "empty")] == [
        ["incomplete"],
        ["corrupt"],
        ["corrupt"],
    ]
    assert {*by_file["leak"]["kind"]} >= {"rules", "secret"}
    assert token not in table.to_csv()
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


def test_check_of_what_nothing_plays(write, own, interaction, authorization, tmp_path, monkeypatch):
    """With a log of what was played, the other interactions are problems; a token request is played with its call.

    A link counts as its cassette; half a line, and other files beside the log, do not count.
    """
    caller = authorization()
    file = write(
        "a.yaml",
        interaction("/token", token_obtained=caller),
        interaction("/a", authorized_by=caller),
        interaction("/b", authorized_by=caller),
    )
    monkeypatch.setenv("TOOLKIT_PLAY_LOG", str(tmp_path / "log"))
    link = tmp_path / "link.yaml"
    link.symlink_to(file)
    with httpx.Client(transport=tk.Cassette(link, "none").transport()) as client:
        client.get("https://broker.svc.invalid/a")
    [log] = (tmp_path / "log").iterdir()
    with log.open("a") as stream:
        stream.write(f'["{file}", 2')
    log.with_suffix(".txt").write_text(f'["{file}", 2]\n')
    clock = ManualClock(datetime(2026, 5, 13, tzinfo=UTC))
    table = tk.check_cassettes(["a"], play_log=tmp_path / "log", settings=own, clock=clock)
    assert table[["kind", "interaction"]].to_numpy().tolist() == [["unplayed", 3]]
    assert "GET https://broker.svc.invalid/b" in table["what"][0]
    other = tk.prune_cassette("a", play_log=tmp_path / "log", dry_run=True, settings=own)
    assert other["number"].tolist() == [3]


def test_prune(write, own, interaction, authorization):
    """What is dropped is gone, with the token request of the last call; the rest keeps its bytes."""
    one, two = authorization(token=1), authorization(token=2)
    file = write(
        "a.yaml",
        interaction("/token1", token_obtained=one),
        interaction("/a", authorized_by=one),
        interaction("/b", authorized_by=one),
        interaction("/token2", token_obtained=two),
        interaction("/c", authorized_by=two, request={"method": "POST"}),
    )
    before = file.read_bytes()
    shown = tk.prune_cassette("a", 5, settings=own)
    assert shown[["number", "method"]].to_numpy().tolist() == [[4, "GET"], [5, "POST"]]
    assert file.read_bytes() == before
    assert tk.prune_cassette("a", method="post", dry_run=False, settings=own)["number"].tolist() == [4, 5]
    assert paths_in(file) == ["token1", "a", "b"]
    assert before.startswith(file.read_bytes())
    tk.prune_cassette("a", uri="/b", dry_run=False, settings=own)
    assert paths_in(file) == ["token1", "a"]
    with pytest.raises(ConfigurationError, match="a whole number from 1 to 2"):
        tk.prune_cassette("a", [1, 3], dry_run=False, settings=own)
    with pytest.raises(ConfigurationError, match="drop all 2 interactions"):
        tk.prune_cassette("a", [2], dry_run=False, settings=own)
    assert tk.prune_cassette("a", uri="*nothing*", settings=own).empty
    with pytest.raises(tk.CassetteMiss, match="does not exist"):
        tk.prune_cassette("missing", settings=own)
    with pytest.raises(ConfigurationError, match="this is JSON"):
        tk.prune_cassette(file.rename(file.with_suffix(".json")), 1, settings=own)


def test_scrub_again(write, own, interaction, tmp_path):
    """A recording from before the rules becomes what it would be today; the rest of the file keeps its bytes."""
    bodies = [b'{"nickname": "Ann Example"}', b'{"id": 1}', b'{"note": "of Ann Example"}']
    recorded = [interaction(f"/{number}", body) for number, body in enumerate(bodies)]
    file = write("a.yaml", *recorded)
    ruled = Settings(project=tmp_path, scrubbing={"names": ["nickname"]})
    assert tk.check_cassettes("a", settings=ruled)["kind"].tolist() == ["rules", "rules"]
    shown = tk.scrub_cassette("a", dry_run=True, settings=ruled)
    assert shown.to_numpy().tolist() == [[1, "NICKNAME", 1], [3, "NICKNAME", 1]]
    assert b"Ann Example" in file.read_bytes()
    assert tk.scrub_cassette("a", settings=ruled).equals(shown)
    data = file.read_bytes()
    assert b"Ann Example" not in data
    assert encode(recorded[1]) in data
    assert tk.scrub_cassette("a", settings=ruled).empty
    assert tk.check_cassettes("a", settings=ruled).empty
    assert file.read_bytes() == data


@given(st.data())
def test_what_was_scrubbed_stays_as_it_is(interactions, data):
    """Scrubbing again what was scrubbed changes no byte."""
    settings = Settings()
    recorded = data.draw(st.lists(interactions(), min_size=1, max_size=3))
    raw = HEADER + b"".join(map(encode, recorded))
    try:
        once = rescrubbed(contents.read(raw, source="x"), todays_scrubber(settings))[0]
    except tk.SecretLeak:  # a content encoding that the body does not have
        return
    again = rescrubbed(contents.read(once, source="x"), todays_scrubber(settings))
    assert again == (once, [])


def test_nothing_is_rewritten_while_somebody_records(write, own, interaction, python):
    """Neither another process nor this one loses what it records."""
    file = write("a.yaml", interaction("/a"), interaction("/b"))
    before = file.read_bytes()
    recorder = Recorder(file, Scrubber(KnownSecrets()))
    recorder.append(interaction("/c"))
    for change in (
        lambda: tk.prune_cassette("a", 1, dry_run=False, settings=own),
        lambda: tk.scrub_cassette(file),
    ):
        with pytest.raises(CassetteBusy, match="This process is recording"):
            change()
    script = f"""
import toolkit as tk
try:
    tk.prune_cassette({str(file)!r}, [1], dry_run=False)
except tk.CassetteBusy as error:
    print(error.what)
"""
    assert "Another process is recording" in python("-c", script)
    recorder.release()
    assert file.read_bytes() == before + encode(interaction("/c"))
    tk.prune_cassette("a", [1], dry_run=False, settings=own)
    assert paths_in(file) == ["b", "c"]


def test_an_unscrubbed_recording_is_not_shown_in_clear(folder, own):
    """Tables of a recording of stock vcrpy hold no secret, and what is left of it when it is pruned holds none."""
    token = secrets.token_urlsafe(30)
    uris, headers = [f"https://api.example/{token}", "https://api.example/b"], {"Authorization": [f"Bearer {token}"]}
    file, other = write_vcrpy(folder / "a.yaml", *uris, headers=headers), write_vcrpy(folder / "b.yaml")
    assert token not in tk.compare_cassettes("a", "b", settings=own).to_csv()
    forget_everything()
    assert token not in tk.prune_cassette("a", 1, dry_run=True, settings=own).to_csv()
    tk.prune_cassette("a", 1, dry_run=False, settings=own)
    assert token.encode() not in file.read_bytes()
    assert paths_in(file) == ["b"]
    assert other.exists()


# A file of vcrpy in which an interaction cannot be read: the others play, and commands name it

ITEM = """- request: {{body: null, headers: {{}}, method: GET, uri: 'https://api.example.com/{path}'}}
  response:
    body: {body}
    headers: {{}}
    status: {{code: {status}, message: OK}}
"""
BAD = "a text where a mapping belongs"


@pytest.fixture
def file(tmp_path):
    items = [
        ("bad", BAD, 200),
        ("empty", "{}", 200),
        ("status", "{string: x}", "hello"),
        ("good", "{string: fine}", 200),
    ]
    text = "".join(ITEM.format(path=path, body=body, status=status) for path, body, status in items)
    (tmp_path / "recorded").write_text(f"interactions:\n{text}version: 1\n")
    return tmp_path / "recorded"


def test_playing(file):
    """Only the interaction that cannot be read is an error, when it is played; a body without `string` is empty."""
    with httpx.Client(transport=tk.Cassette(file, "none").transport(), base_url="https://api.example.com") as client:
        assert client.get("/good").text == "fine"
        assert client.get("/empty").text == ""
        for path in ("/bad", "/status"):
            with pytest.raises(tk.CassetteCorrupt, match="in interaction"):
                client.get(path)
        with pytest.raises(tk.CassetteMiss):
            client.get("/other")


def checked(file):
    frame = tk.check_cassettes(file, settings=Settings())
    return list(zip(frame["kind"], frame["interaction"], strict=True))


def test_nothing_can_be_read(tmp_path):
    """A file of which nothing can be read opens; a call is told why, and reports have a line for each interaction."""
    file = tmp_path / "recorded.yaml"
    text = "".join(ITEM.format(path=path, body=BAD, status=200) for path in "ab")
    file.write_text(f"interactions:\n{text}version: 1\n")
    with httpx.Client(transport=tk.Cassette(file, "none").transport(), base_url="https://api.example.com") as client:
        for path in "abc":
            with pytest.raises(tk.CassetteCorrupt, match="in interaction"):
                client.get(path)
    assert checked(file) == [("corrupt", 1), ("corrupt", 2)]
    assert all(row["problem"] for row in json.loads(CliRunner().invoke(app, ["show", str(file), "--json"]).output))
    report = tk.import_cassette(file, tmp_path / "new.yaml", settings=Settings())
    assert (report.path, sum(report.left_out.values())) == (None, 2)
    assert tk.list_cassettes(tmp_path, settings=Settings())["interactions"].tolist() == [2]


def test_catalog(file):
    """A file without a suffix is found, listed with all of its interactions, and checked by line; others are not."""
    (file.parent / "LICENCE").write_text("Free to use.")
    (file.parent / "empty").touch()
    assert tk.list_cassettes(file.parent, settings=Settings())["interactions"].tolist() == [4]
    assert checked(file) == [("corrupt", 1), ("corrupt", 3)]
    assert tk.check_cassettes(file, settings=Settings())["line"].notna().all()


def test_show(file):
    """`toolkit cassettes show` goes on after an interaction that cannot be read, and says why it cannot."""
    shown = CliRunner().invoke(app, ["show", str(file), "--json"])
    rows = json.loads(shown.output)
    assert [row["uri"].rpartition("/")[2] for row in rows] == ["bad", "empty", "status", "good"]
    assert [bool(row["problem"]) for row in rows] == [True, False, True, False]
    assert not rows[3]["is_token_request"]
    shown = CliRunner().invoke(app, ["show", str(file), "1"])
    assert (shown.exit_code, "has no content" in shown.output) == (0, True)
    assert "fine" in CliRunner().invoke(app, ["show", str(file), "4"]).output
    assert CliRunner().invoke(app, ["show", str(file)]).exit_code == 0


@pytest.mark.parametrize("value", ["REDACTED", "your-api-key", "xxxxxxxx", "Suppress", "test_set_cookie", "[FILTERED]"])
def test_dummies(tmp_path, value):
    """There is nothing to say about a stand-in that somebody wrote in the place of a secret, whatever its length."""
    file = tmp_path / "a.yaml"
    text = ITEM.format(path=f"?api_key={value}", body="""{string: '{"access_token": "dummy-token-1"}'}""", status=200)
    file.write_text(f"interactions:\n{text}version: 1\n")
    assert checked(file) == []
    file.write_text(f"interactions:\n{text.replace(value, 'hunter2-demo')}version: 1\n")
    assert checked(file) == [("rules", 1)]
