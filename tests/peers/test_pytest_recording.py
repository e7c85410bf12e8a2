"""Tests of other projects, marked for pytest-recording, replay our recordings."""

from __future__ import annotations

from stock_recordings import BASE, BROKER, all_kinds, record_session, write

MARKED_TESTS = f"""
import httpx, pytest, vcr

@pytest.mark.vcr
def test_kinds():
    with httpx.Client(base_url="{BASE}") as client:
        assert [client.get("/a").text, client.get("/a").text] == ["first", "second"]
        assert client.get("/gzip").text == "gzipped"
        assert client.post("/post", json={{"a": 1}}).text == "posted"

@pytest.mark.vcr
@pytest.mark.default_cassette("test_kinds")
def test_unrecorded():
    with pytest.raises(Exception, match="no recorded interaction matches"):
        httpx.get("{BASE}/unrecorded")

@pytest.mark.vcr
def test_session():
    assert len(httpx.get("{BROKER}/v1/accounts").json()) == 2

def test_locale():
    with vcr.use_cassette("locale.yaml", record_mode="none"):
        assert httpx.get("{BASE}/a").text == "a\\xf1\\u65e5\\U0001f600"
"""


def test_pytest_recording_replays_ours(tmp_path, interaction, python):
    """Tests marked for pytest-recording replay our cassettes with the network blocked, in any locale."""
    (tmp_path / "test_it.py").write_text(MARKED_TESTS, encoding="utf-8")
    folder = tmp_path / "cassettes" / "test_it"
    folder.mkdir(parents=True)
    write(folder / "test_kinds.yaml", *all_kinds(interaction))
    write(tmp_path / "locale.yaml", interaction("/a", "añ日😀".encode()))
    record_session(folder / "test_session.yaml")
    before = {file: file.read_bytes() for file in folder.iterdir()}
    output = python(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--block-network", "--rootdir", tmp_path),
        tmp_path / "test_it.py",
        PYTHONUTF8="0",
        LC_ALL="C",
        PYTHONCOERCECLOCALE="0",
    )
    assert "4 passed" in output
    assert {file: file.read_bytes() for file in folder.iterdir()} == before
