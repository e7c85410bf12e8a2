"""`toolkit record`: what it sends, what it records, and what it says; the service is within this process."""

import functools

import pytest
import typer
from typer.testing import CliRunner

import toolkit as tk
from toolkit.cli import record
from toolkit.core.errors import ToolkitError
from toolkit.session.session import Session


@pytest.fixture
def run(project, service, settings, make_credentials, monkeypatch):
    """Return a function that runs the command in a project with credentials of a broker partner."""
    app = typer.Typer()
    app.command()(record.record)
    credentials = make_credentials("broker-sandbox")
    (project / "toolkit.toml").touch()
    monkeypatch.chdir(project)
    for name, address in settings.addresses.items():
        monkeypatch.setenv(f"TOOLKIT_{name.upper()}_URL", address)
    monkeypatch.setenv("TOOLKIT_BROKER_SANDBOX_CLIENT_ID", credentials.client_id)
    monkeypatch.setenv("TOOLKIT_BROKER_SANDBOX_CLIENT_SECRET", credentials.client_secret.reveal())
    monkeypatch.setattr(record, "Session", functools.partial(Session, transport=service, retry=False))
    service.answer = lambda request: service.reply([{"path": request.url.path, "cash": 1.5}])

    def invoke(*arguments, environment="broker-sandbox"):
        chosen = ("--environment", environment) if environment else ()
        result = CliRunner().invoke(app, [*arguments, *chosen], env={"COLUMNS": "200"})
        assert result.exception is None or isinstance(result.exception, ToolkitError | SystemExit), result.exception
        return result

    return invoke


@pytest.fixture
def file(project):
    return project / "cassettes" / "mine.yaml"


def sent(service):
    return [f"{request.method} {request.url.host}{request.url.raw_path.decode()}" for request in service.calls]


def test_other_paths(run, service, file):
    """Recorded are the accounts call, or paths and full URLs with their queries, perhaps at another interface."""
    assert "recording, 2 interactions" in run("mine").output
    assert len(tk.Session(cassette=file, mode="none").accounts()) == 1
    run("paths", "/v1/a?x=%20 y", "https://broker-sandbox.example.com/v1/b")
    assert sent(service) == [
        f"GET broker-sandbox.example.com{path}" for path in ("/v1/accounts", "/v1/a?x=%20%20y", "/v1/b")
    ]
    service.requests.clear()
    run("other", "/v2/quotes", "--interface", "market_data")
    assert sent(service) == ["GET market-data-sandbox.example.com/v2/quotes"]


def test_new_episodes_adds(run, service, file):
    """`new_episodes` replays what is there and adds the rest; `once` refuses and names both other modes."""
    run("mine", "/v1/a")
    service.requests.clear()
    run("mine", "/v1/a", "/v1/b", "--mode", "new_episodes")
    assert sent(service) == ["GET broker-sandbox.example.com/v1/b"]
    assert len(tk.Cassette(file, "none")) == 3  # the token is the same
    error = run("mine", "/v1/a").exception
    assert "already exists" in error.what
    assert "--mode new_episodes" in error.next_step
    assert "--mode all" in error.next_step


def test_pages(run, service):
    """Only the first page is read, and a line says so; `--pages` reads all of them."""
    link = {"Link": '</v1/a?page=2>; rel="next"'}
    service.answer = lambda request: service.reply([{"x": 1}], headers={} if "page" in request.url.params else link)
    first = run("mine", "/v1/a")
    assert len(service.calls) == 1
    assert "--pages records all of them" in first.output
    everything = run("more", "/v1/a", "--pages")
    assert "recording, 2 interactions" in everything.output
    assert "--pages" not in everything.output


@pytest.mark.parametrize(
    ("mode", "is_new"),
    [("once", True), ("new_episodes", True), ("all", True), ("new_episodes", False), ("all", False)],
)
def test_refused_path(run, service, file, mode, is_new):
    """After a refusal nothing of this run is left, and what was recorded before stays; the error names the call."""
    service.answer = lambda request: service.reply([], 404 if "missing" in request.url.path else 200)
    if not is_new:
        run("mine", "/v1/a")
    before = None if is_new else file.read_bytes()
    error = run("mine", "/v1/a", "/v1/b", "/v1/missing", "--mode", mode).exception
    assert error.what == "The service answered GET /v1/missing with status 404."
    assert "This answer is recorded" not in error.next_step
    assert error.next_step.endswith("Nothing was recorded.")
    assert {path.name: path.read_bytes() for path in file.parent.glob("*")} == ({} if is_new else {"mine.yaml": before})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["https://example.org/v1/a"], "not below the broker interface's address"),
        (["/v1/\n"], "begins with one slash"),
        (["/v1/a", "--interface", "auth"], "Choose one of trading, market_data, broker."),
        (["/v1/a", "--interface", "trading"], "has no trading interface"),
        (["--interface", "market_data"], "This option needs a path"),
        (["/v1/a", "--mode", "none"], "Choose one of once, new_episodes, all."),
        (["/v1/a", "--practice", "--credentials", "x"], "has its own credentials"),
    ],
)
def test_wrong_arguments(run, service, project, arguments, words):
    """Nothing is sent and nothing is written."""
    result = run("mine", *arguments)
    assert result.exit_code != 0
    assert words in f"{result.output}{result.exception}"
    assert sent(service) == []
    assert not list(project.rglob("*.yaml"))


@pytest.mark.parametrize("name", ["../x", "folder/x", "./x.txt"])
def test_a_path_without_a_suffix(run, service, project, name):
    """A path needs the suffix of a cassette: other tools would not find the file, nor would `cassettes list`."""
    result = run(name)
    assert "needs a suffix" in result.output
    assert result.exit_code == 2
    assert (service.calls, list(project.parent.glob("x*"))) == ([], [])
