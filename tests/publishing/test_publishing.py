"""Notebooks are published from end to end: with kernels, from recordings of the practice service."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import canaries
import httpx
import pytest
from notebook_files import write_notebook
from typer.testing import CliRunner

import toolkit as tk
from toolkit.cli import app as cli_app
from toolkit.sharing import publish

PERSON, MAIL, SHORT = "Zdenka Quimby", "zdenka.quimby@bigbank.example", "Zazu"
RULES = 'pseudonyms = ["account_number", "id", "full_name", "email", "nick"]\nnames = ["pin"]\n'
GIVEN = ["README.md", "cassettes/clients.yaml", "cassettes/people.yaml", "notebooks/report.ipynb", "requirements.txt"]


def settings_text(settings, more=""):
    addresses = "".join(f'{name} = "{address}"\n' for name, address in settings.addresses.items())
    return f"{more}[addresses]\n{addresses}\n[scrubbing]\n{RULES}"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with recordings of real accounts of the practice service, made without rules, and notebooks."""
    folder = tmp_path_factory.mktemp("work") / "project"
    folder.mkdir()
    with tk.practice(accounts=8) as service:
        settings = tk.Settings(service.settings.addresses, project=folder)
        credentials = service.credentials["broker-secret"]
        with tk.Session(
            credentials=credentials, settings=settings, cassette=folder / "cassettes/clients.yaml"
        ) as session:
            accounts = session.accounts()
            first = accounts.iloc[0]
            session.broker.get(f"/v1/practice/accounts/{first['id']}/positions")
    number, identifier = str(first["account_number"]), first["id"]
    person = {"full_name": PERSON, "email": MAIL, "account_number": number, "pin": "4711", "nick": SHORT}
    note = {"people": [person, {"nick": "Ann"}], "note": f"{SHORT} called about {number}"}
    handler = httpx.MockTransport(lambda _: httpx.Response(200, json=note))
    with tk.Cassette(folder / "cassettes/people.yaml") as cassette:
        httpx.Client(transport=cassette.transport(handler)).get("https://crm.example.com/people?q=Zdenka+Quimby")
    with tk.Cassette(folder / "cassettes/unused.yaml") as cassette:
        httpx.Client(transport=cassette.transport(handler)).get("https://crm.example.com/unused")
    (folder / "toolkit.toml").write_text(settings_text(settings))
    notebook = write_notebook(
        folder / "notebooks/report.ipynb",
        f"# Report for {PERSON}\n\n{number}, {MAIL}, Quimby; {SHORT} called; Acme & Sons, Ann",
        ("kind = 'positions'", "parameters"),
        "import httpx, toolkit as tk\nsession = tk.Session(cassette='clients')\nsession.accounts()",
        f"client = '{identifier}'\nsession.broker.get(f'/v1/practice/accounts/{{client}}/{{kind}}').json()",
        f"accounts = session.accounts()\nassert (accounts.account_number == '{number}').sum() == 1",
        "client = httpx.Client(transport=tk.Cassette('people', 'none').transport())\n"
        "client.get('https://crm.example.com/people?q=Zdenka+Quimby').json()",
        "import ipywidgets\nipywidgets.IntSlider(value=3)",
        "import pathlib, IPython.display as show\nshow.display(show.HTML('<script>x()</script><b>bold</b>'))",
        authors=[{"name": PERSON}],
    )
    everything = sorted({PERSON, MAIL, SHORT, number, *accounts["account_number"].astype(str), *accounts["id"]})
    everything += [*settings.addresses.values(), *canaries.secrets_of(credentials)]
    return folder, notebook, everything


@pytest.fixture(scope="module")
def published(project):
    """The report as a published folder."""
    folder, notebook, _ = project
    return tk.publish(notebook, folder.parent / "copy")


def clean_environment(tmp_path):
    """Return variables of a user who has never configured anything."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH")}
    return {**kept, "HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}


def run(*arguments, cwd, tmp_path):
    command = [sys.executable, "-c", "from toolkit.cli import main; main()", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=clean_environment(tmp_path), capture_output=True, text=True, check=False
    )


def test_published_folder(project, published):
    """The folder holds the notebook, what it plays and no more; nothing of the original is left, in any encoding."""
    _, _, everything = project
    assert list(published.sizes) == [*GIVEN, "toolkit.toml"]
    for name in published.sizes:
        data = (published.path / name).read_bytes()
        long = [value for value in everything if len(value) >= 8]
        canaries.assert_absent(data, long, layers=2)
        assert SHORT.encode() not in data
        assert b"Quimby" not in data
    content = json.loads((published.path / "notebooks/report.ipynb").read_bytes())
    assert sorted(content["metadata"]) == ["kernelspec", "language_info"]
    assert content["cells"][2]["outputs"]
    assert "Acme & Sons, Ann" in "".join(content["cells"][0]["source"])
    settings = (published.path / "toolkit.toml").read_text()
    assert settings.splitlines()[1:] == ['cassettes = "cassettes"']
    assert any(words.startswith("cassettes/people.yaml: ") for words in published.replaced)
    assert "notebooks/report.ipynb, cell 1: 5 values" in published.replaced
    assert published.environments == ("broker-live",)
    assert str(published.path) in repr(published)
    assert published.command in str(published)


@pytest.mark.parametrize(
    ("user", "start"), [("", "service-access-toolkit[lab] @ git+https:"), ("me:fake@", "# Install")]
)
def test_the_requirement_holds_no_login(monkeypatch, user, start):
    """If the toolkit was installed from a repository, the copy names it, but not an address with a user or password."""
    record = {"url": f"https://{user}git.example/toolkit", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}}
    distribution = SimpleNamespace(read_text=lambda _: json.dumps(record))
    monkeypatch.setattr(publish, "distribution", lambda _: distribution)
    assert publish._toolkit_requirement().startswith(start)


def test_the_folder_runs_elsewhere(published, tmp_path):
    """Moved to another place, with no configuration, the copy gives the same outputs."""
    elsewhere = tmp_path / "unpacked"
    shutil.copytree(published.path, elsewhere)
    result = run("verify", ".", cwd=elsewhere, tmp_path=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    result = run("scan", ".", cwd=elsewhere, tmp_path=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_archive_and_page(project, published):
    """The archive has the files of the folder, from a running event loop too; the page loads nothing."""
    folder, notebook, everything = project

    async def publish():
        return tk.publish(notebook, folder.parent / "copy.zip")

    asyncio.run(publish())
    archive = zipfile.ZipFile(io.BytesIO((folder.parent / "copy.zip").read_bytes()))
    assert archive.namelist() == [f"copy/{name}" for name in published.sizes]
    archived = archive.read("copy/notebooks/report.ipynb")
    canaries.assert_absent(archived, [value for value in everything if len(value) >= 8], layers=2)
    steps = []
    page = tk.publish(notebook, folder.parent / "page.html", watch=steps.append)
    assert (list(page.sizes), len(steps)) == (["page.html"], 4)
    html = page.path.read_bytes()
    canaries.assert_absent(html, [value for value in everything if len(value) >= 8], layers=2)
    assert b"<script" not in html
    assert b"Content-Security-Policy" in html
    assert b"IntSlider(value=3)" in html
    assert b"<b>bold</b>" in html


def invoke(*arguments):
    return CliRunner().invoke(cli_app.app, ["publish", *map(str, arguments)])


def test_real_accounts_need_rules(project, tmp_path):
    """Without pseudonyms, a recording of a real account is refused; `publish = "as is"` publishes it."""
    folder, _, _ = project
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    (other / "toolkit.toml").write_text("")
    with pytest.raises(tk.PublishError, match=r"broker-live.*real accounts") as error:
        tk.publish(other / "notebooks/report.ipynb", tmp_path / "copy")
    assert "pseudonyms" in error.value.next_step
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other"]
    (other / "toolkit.toml").write_text('publish = "as is"\n')
    copy = tk.publish(other / "notebooks/report.ipynb", tmp_path / "copy")
    assert PERSON in (copy.path / "cassettes/people.yaml").read_text()


OPEN = "import time, toolkit as tk\nsession = tk.Session(cassette='clients')"
REFUSED = {
    "does not replay a recording": "1 + 1",
    "does not run offline: cell 2.*CassetteMiss": "tk.Session('broker-live', cassette='nowhere')",
    "does not run offline: cell 2.*ValueError: no": "raise ValueError('no')",
    "Two runs of the copy give different outputs: cell 2": "session.accounts(); time.time_ns()",
    "does not run|by an absolute path": "tk.Session(cassette='FOLDER/cassettes/clients.yaml').accounts()",
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(project, tmp_path, message):
    """A notebook that cannot be given away is refused with the place and the reason, and nothing is left."""
    folder, _, _ = project
    source = REFUSED[message].replace("FOLDER", folder.as_posix())
    cells = [source] if source == "1 + 1" else [OPEN, source]  # it does not even open a recording
    notebook = write_notebook(folder / "notebooks/other.ipynb", *cells)
    with pytest.raises(tk.PublishError, match=message):
        tk.publish(notebook, tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_a_secret_is_refused(project, tmp_path):
    """A secret that only the output shows is found there, and the copy is refused; the error names the cell."""
    folder, _, _ = project
    secret = canaries.new()
    source = f"session.accounts(); print({secret[::-1]!r}[::-1])"
    notebook = write_notebook(folder / "notebooks/secret.ipynb", OPEN, source)
    with pytest.raises(tk.SecretLeak, match=r"secret\.ipynb, cell 2") as error:
        tk.publish(notebook, tmp_path / "copy.zip", secrets=secret)
    assert canaries.found_in(str(error.value), secret) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("# Fine\n\nQUIMBY again", "cell 2, line 3 of its source"),
        ("zdenka_cash = 1", "cell 2, line 1 of its source"),
        (f"import base64\nbase64.b64decode('{base64.b64encode(MAIL.encode()).decode()}')[:0]", "cell 2"),
        ("print('x\\n' + ''.join(reversed('ybmiuQ')))", "cell 2, line 2 of its output"),
    ],
)
def test_what_is_left_stops_the_copy(project, tmp_path, source, place):
    """Another case, a part in a name of code, an encoded value and an output are refused with cell and line."""
    folder, _, _ = project
    playing = (
        "import httpx, toolkit as tk\n"
        "client = httpx.Client(transport=tk.Cassette('people', 'none').transport())\n"
        "client.get('https://crm.example.com/people?q=Zdenka+Quimby').json()"
    )
    notebook = write_notebook(folder / "notebooks/left.ipynb", playing, source)
    with pytest.raises(tk.SecretLeak, match=f"left.ipynb, {place}") as error:
        tk.publish(notebook, tmp_path / "copy")
    assert "uimby" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_report_for_each_client(project, tmp_path):
    """With parameters, only what this client's run played is inside; without code, the page shows none."""
    folder, _, _ = project
    people = [{"full_name": f"{name} Beispiel", "email": f"{name}@bank.example"} for name in ("Ottilie", "Wilhelmina")]

    def answer(request):
        return httpx.Response(200, json=people[int(request.url.path[-1])] | {"cash": 1000 + int(request.url.path[-1])})

    with tk.Cassette(folder / "cassettes/each.yaml") as cassette:
        client = httpx.Client(transport=cassette.transport(httpx.MockTransport(answer)))
        for number in range(2):
            client.get(f"https://crm.example.com/people/{number}")
    notebook = write_notebook(
        folder / "notebooks/each.ipynb",
        ("number = 0", "parameters"),
        "import httpx, toolkit as tk\nclient = httpx.Client(transport=tk.Cassette('each', 'none').transport())\n"
        "client.get(f'https://crm.example.com/people/{number}').json()",
    )
    for number in range(2):
        copy = tk.publish(notebook, tmp_path / str(number), parameters={"number": number})
        data = b"".join(path.read_bytes() for path in copy.path.rglob("*") if path.is_file())
        assert str(1000 + number).encode() in data
        assert str(1001 - number).encode() not in data
        assert not any(name in data for name in (b"Ottilie", b"Wilhelmina"))
    result = invoke(notebook, "-o", tmp_path / "page.html", "-p", "number=1", "--no-code")
    assert result.exit_code == 0, result.exception
    page = (tmp_path / "page.html").read_text()
    assert "1001" in page
    assert "1000" not in page
    assert "Cassette" not in page
    error = invoke(folder / "notebooks/left.ipynb", "-o", tmp_path / "x.html", "-p", "number=1").exception
    assert "has the tag parameters" in str(error)


def test_command(project, published, tmp_path):
    """The command prints what it gave away; bad input is an error in two lines, before anything runs."""
    folder, notebook, _ = project
    for arguments, message in [
        ((notebook, "-o", published.path), "already exists"),
        ((folder / "nowhere.ipynb", "-o", tmp_path / "a"), "nowhere.ipynb does not exist"),
        ((folder / "toolkit.toml", "-o", tmp_path / "a"), "not a notebook"),
        ((notebook, "-o", tmp_path / "a.ipynb"), "cannot be a .ipynb file"),
        ((notebook, "-o", folder, "--replace"), "contains the notebook itself"),
        ((notebook, "-o", published.path.parent / "project/cassettes", "--replace"), "than an earlier publication"),
        ((notebook, "-o", tmp_path / "a", "--no-code"), "Only a page can omit its code"),
        ((notebook, "-o", tmp_path / "a", "-p", "kind"), "not a parameter"),
        ((write_notebook(tmp_path / "alone.ipynb", "1"), "-o", tmp_path / "a"), "not in a project"),
    ]:
        error = invoke(*arguments).exception
        assert isinstance(error, tk.ConfigurationError), error
        assert message in str(error)
    (published.path / "mine.csv").touch()
    error = invoke(notebook, "-o", published.path, "--replace").exception
    assert "contains more than an earlier publication" in str(error)
    (published.path / "mine.csv").unlink()
    result = invoke(notebook, "-o", published.path, "--replace")
    assert result.exit_code == 0, result.exception
    assert "cell 1: 5 values" in result.output
    assert "were not checked" in result.output
    assert "pip install -r requirements.txt" in result.output.replace("\n", " ")
