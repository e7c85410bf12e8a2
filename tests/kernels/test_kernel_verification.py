"""Notebooks that run in real kernels: verdicts, and that nothing is left behind.

A kernel takes a second to start, so notebooks of many cells run once and serve many tests.
"""

import asyncio
import json
import math
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from notebook_files import odd_notebooks, write_notebook

import toolkit
from toolkit.core.errors import ConfigurationError
from toolkit.verification import Kind, Outcome, verify
from toolkit.verification.normalize import CellResult, RunResult
from toolkit.verification.run_notebook import describe_error
from toolkit.verification.verdict import CellPlace
from toolkit.verification.verifier import _Verification

SECRET = "AWS_SECRET_ACCESS_KEY"

LOOKS = (
    "# Everything that Jupyter shows, and what it makes anew in each process",
    "import sys, warnings\nprint('out')\nprint('err', file=sys.stderr)\nwarnings.warn('careful')",
    "import asyncio\nawait asyncio.sleep(0)\n{str(n) for n in range(9)}",
    "import pandas as pd\nframe = pd.DataFrame({'a': [1, 2], 'b': [0.5, 0.25]})\nframe",
    "frame.style.highlight_max()",
    "import ipywidgets\nslider = ipywidgets.IntSlider(description='x')\nslider",
    "captured = ipywidgets.Output()\nwith captured:\n    print('inside')\ncaptured",
    "%%html\n<b onclick='x'>page</b>",
    "object()",
    ("frame['missing']", "raises-exception"),
    "def divide():\n    return 1 / 0",
    ("divide()", "raises-exception"),
    "import pathlib, tempfile\npathlib.Path.home(), pathlib.Path.cwd(), tempfile.gettempdir()",
    "import toolkit\ntoolkit.Session(cassette='tour').accounts().shape",
    "slider.value = 7",
    "",
)
IMAGES = (
    "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])",
    "%config InlineBackend.figure_formats = ['svg']\nplt.plot([1, 3, 2]);",
)
SHUT = (
    "import os\n[name for name in os.environ if 'SECRET' in name or 'KEY' in name.replace('KEYRING', '')]",
    "import httpx\ntry:\n    httpx.get('http://127.0.0.1:9')\nexcept httpx.ConnectError as error:\n    print(error)",
    "import keyring\ntype(keyring.get_keyring()).__module__",
    "os.environ['TOOLKIT_OFFLINE'], os.environ['TZ'], sorted(os.listdir(os.path.expanduser('~')))",
    "get_ipython().history_manager.hist_file",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a project with notebooks of every sort and the bundled recording."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").touch()
    cassettes = folder / "cassettes"
    cassettes.mkdir()
    recording = Path(__file__).resolve().parents[2] / "cassettes" / "tour.yaml"
    (cassettes / "tour.yaml").write_bytes(recording.read_bytes())
    write_notebook(folder / "good" / "looks.ipynb", *LOOKS, widgets={})
    write_notebook(folder / "good" / "shut.ipynb", *SHUT)
    write_notebook(folder / "bad" / "raises.ipynb", "1", "# Words", "x = 1\nint('abc')", "never")
    write_notebook(folder / "bad" / "ends.ipynb", "import os\nos._exit(3)")
    write_notebook(folder / "bad" / "calls.ipynb", "import httpx\nhttpx.get('http://127.0.0.1:9')")
    write_notebook(folder / "bad" / "misses.ipynb", "import toolkit as tk\ntk.Session(cassette='none-such').accounts()")
    write_notebook(folder / "bad" / "clock.ipynb", "import time", "print(time.time_ns())")
    for name, content in {**odd_notebooks(), "torn": '{"cells": ['}.items():
        (folder / "bad" / f"{name}.ipynb").write_text(content)
    return folder


@pytest.fixture(scope="module")
def updated(folder):
    """Verify all notebooks once with update=True; return the verdicts by name, and the progress."""
    progress = []
    secret = secrets.token_hex(16)
    os.environ[SECRET] = secret
    try:
        verdicts = verify([folder / "good", folder / "bad"], update=True, watch=progress.append)
    finally:
        del os.environ[SECRET]
    assert secret not in "".join(path.read_text() for path in folder.rglob("*.ipynb"))
    return {verdict.path.stem: verdict for verdict in verdicts}, progress


@pytest.fixture(scope="module")
def good(folder, updated):
    """Return the stored contents of the updated notebooks by name."""
    return {path.stem: json.loads(path.read_text()) for path in (folder / "good").iterdir()}


def outputs(content, number):
    return content["cells"][number - 1]["outputs"]


def text_of(output):
    return "".join(output.get("text") or output["data"]["text/plain"])


def test_updated_notebooks_are_the_same(folder, updated):
    """After an update, in a read-only folder, every notebook is the same."""
    verdicts, _ = updated
    assert [verdicts[name].outcome for name in ("looks", "shut")] == [Outcome.UPDATED] * 2
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    good = folder / "good"
    good.chmod(0o555)
    try:
        again = verify([good])
    finally:
        good.chmod(0o755)
    assert [(verdict.outcome, verdict.differences, verdict.failure) for verdict in again] == [
        (Outcome.SAME, (), None)
    ] * 2
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.usefixtures("updated")
def test_changed_byte_is_named(folder, good, tmp_path):
    """A changed digit of a stored table is reported with its cell, output, lines and library versions."""
    file = tmp_path / "shut.ipynb"
    data = (folder / "good" / "shut.ipynb").read_bytes()
    running = good["shut"]["metadata"]["toolkit"]["versions"]["pandas"]
    changed = data.replace(b"'UTC', ", b"'UTD', ").replace(f'"{running}"'.encode(), b'"0.1"')
    file.write_bytes(changed)
    (verdict,) = verify([file])
    (difference,) = verdict.differences
    assert verdict.outcome is Outcome.DIFFERS
    assert difference.cell.number == 4
    assert difference.place == "output 1, text/plain"
    assert difference.kind is Kind.DATA
    assert difference.diff == ("-('1', 'UTD', ['.ipython'])", "+('1', 'UTC', ['.ipython'])")
    assert [(change.name, change.stored, change.running) for change in verdict.versions] == [("pandas", "0.1", running)]
    assert file.read_bytes() == changed


def test_stored_form_is_repeatable(good):
    """Stored outputs hold no address, time or identifier of a run, nor a folder of this machine."""
    looks = good["looks"]
    stored = json.dumps(looks)
    assert text_of(outputs(looks, 9)[0]) == "<object at 0x...>"
    assert text_of(outputs(looks, 13)[0]) == "(PosixPath('~'),\n PosixPath('<project>/good'),\n '<temporary>')"
    assert "<packages>/pandas" in stored
    assert "site-packages" not in stored
    assert str(Path.home()) not in stored
    assert all(set(cell["metadata"]) <= {"tags"} for cell in looks["cells"])
    assert looks["metadata"]["language_info"] == {"name": "python"}


def test_streams_and_warnings(good):
    """Printed lines are one text per stream, and warnings name the cell by its number."""
    out, err = outputs(good["looks"], 2)
    assert (out["name"], text_of(out)) == ("stdout", "out\n")
    assert text_of(err).startswith("err\n<cell 1>:4: UserWarning: careful\n")
    assert text_of(outputs(good["looks"], 3)[0]).startswith("{")


def test_traceback_names_the_right_cell(good):
    """Code of an earlier cell is quoted from that cell."""
    (error,) = outputs(good["looks"], 12)
    shown = "\n".join(error["traceback"])
    assert error["ename"] == "ZeroDivisionError"
    assert "return" in shown
    assert "In[10]" in shown


def test_widget_state(good):
    """The view in an output belongs to the stored state, which includes changes by later cells."""
    (shown,) = outputs(good["looks"], 6)
    model = shown["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    state = good["looks"]["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    assert state[model]["state"]["value"] == 7
    assert "widgets" not in good["shut"]["metadata"]


def test_recording_replays(good):
    """The toolkit finds the project's cassette without credentials and settings."""
    assert text_of(outputs(good["looks"], 14)[0]).startswith("(")


def test_kernel_has_no_secrets_and_no_network(good):
    """Variables, network, keyring, home folder and history are not the user's."""
    shown = [text_of(outputs(good["shut"], number)[0]) for number in range(1, 6)]
    assert shown[0] == "[]"
    assert "the network is off" in shown[1]
    assert shown[2] == "'keyring.backends.null'"
    assert shown[3] == "('1', 'UTC', ['.ipython'])"
    assert shown[4] == "':memory:'"


@pytest.mark.parametrize(
    ("name", "cell", "words", "next_step"),
    [
        ("raises", 3, "ValueError: invalid literal for int() with base 10: 'abc' (line 2)", "JupyterLab"),
        ("ends", 1, "The kernel died in this cell.", "JupyterLab"),
        ("calls", 1, "the network is off", "Replay a recording"),
        ("misses", 1, "CassetteMiss: ", "TOOLKIT_OFFLINE"),
    ],
)
def test_failure_is_described(updated, name, cell, words, next_step):
    """A failure names the cell, the last line of the error and what to do, without a traceback."""
    verdicts, _ = updated
    failure = verdicts[name].failure
    assert verdicts[name].outcome is Outcome.FAILED
    assert failure.cell.number == cell
    assert words in failure.what
    assert next_step in failure.next_step
    assert "\n" not in failure.what


@pytest.mark.parametrize("name", ["torn", "half", "digits", "nested", "float"])
def test_odd_file_fails_alone(updated, name):
    """A file that cannot be read fails, and the others run."""
    verdicts, _ = updated
    assert verdicts[name].outcome is Outcome.FAILED
    assert verdicts[name].failure.what.startswith(("Line 1 is not JSON", "It "))
    assert verdicts[name].failure.next_step
    assert verdicts[name].failure.cell is None


def test_unforeseen_error_fails_alone(tmp_path, monkeypatch):
    """An unforeseen error belongs to its notebook; the other notebook has its verdict."""

    async def run_notebook(content, *arguments, **options):
        if content["cells"][0]["source"] == "odd":
            raise LookupError("what \x1b[2J is this")
        return RunResult({0: CellResult()})

    monkeypatch.setattr("toolkit.verification.verifier.run_notebook", run_notebook)
    files = [write_notebook(tmp_path / f"{name}.ipynb", name) for name in ("odd", "plain")]
    odd, plain = verify(files)
    assert (odd.outcome, odd.cells) == (Outcome.FAILED, 1)
    assert odd.failure.what == "It could not be verified: LookupError: what [2J is this"
    assert "JupyterLab" in odd.failure.next_step
    assert (plain.outcome, plain.failure) == (Outcome.SAME, None)


def test_skipped_cell_keeps_its_outputs(tmp_path):
    """Outputs of a skipped cell stay through an update and compare as the same."""
    file = write_notebook(tmp_path / "a.ipynb", ("1 / 0", "skip-execution"), "2")
    content = json.loads(file.read_text())
    shown = {"output_type": "stream", "name": "stdout", "text": [f"<x at 0x7fa40bb8fc90> in {tmp_path}\n"]}
    content["cells"][0] |= {"outputs": [shown], "execution_count": 7}
    file.write_text(json.dumps(content))
    (verdict,) = verify([file], update=True)
    assert verdict.outcome is Outcome.UPDATED
    skipped, ran = json.loads(file.read_text())["cells"]
    assert (skipped["outputs"], skipped["execution_count"]) == ([shown], 7)
    assert ran["execution_count"] == 1
    assert [(again.outcome, again.differences) for again in verify([file])] == [(Outcome.SAME, ())]


def test_unstable_notebook_is_not_updated(folder, updated):
    """An update whose second run differs is refused, with the differences between the two runs."""
    verdicts, _ = updated
    assert verdicts["clock"].outcome is Outcome.UNSTABLE
    assert [difference.cell.number for difference in verdicts["clock"].differences] == [2]
    assert '"outputs": []' in (folder / "bad" / "clock.ipynb").read_text()


def test_progress_of_verification(updated):
    """Progress is reported for each cell that starts and each notebook that is finished."""
    verdicts, events = updated
    assert [event.cell for event in events if event.path.stem == "raises"] == [1, 2, 3, None]
    finished = [event.verdict for event in events if event.cell is None]
    assert sorted(verdict.path.stem for verdict in finished) == sorted(verdicts)


def test_images_are_repeatable(tmp_path):
    """A PNG and an SVG drawn in two processes are the same bytes."""
    pytest.importorskip("matplotlib")
    file = write_notebook(tmp_path / "a.ipynb", *IMAGES)
    (verdict,) = verify([file], update=True)
    assert verdict.outcome is Outcome.UPDATED
    png, svg = (cell["outputs"][-1]["data"] for cell in json.loads(file.read_text())["cells"])
    assert "image/png" in png
    assert "image/svg+xml" in svg


def test_hanging_cell(tmp_path):
    """A cell that exceeds its time is named, and its kernel is stopped."""
    file = write_notebook(
        tmp_path / "hangs.ipynb",
        "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\nwhile True: time.sleep(0.01)",
    )
    (verdict,) = verify([file], timeout=0.5)
    assert verdict.failure.cell.number == 1
    assert "0.5 seconds" in verdict.failure.what
    assert is_gone(int((tmp_path / "pid").read_text()))


def is_gone(process):
    """Return True once a process that is not a child of ours has ended."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_stops_everything(tmp_path, number):
    """After Ctrl+C or SIGTERM no kernel, child process, temporary file or traceback is left."""
    code = (
        "import os, pathlib, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "pathlib.Path('part').write_text(f'{os.getpid()} {child.pid}')\n"
        "os.rename('part', 'pids')\n"
        "time.sleep(600)"
    )
    write_notebook(tmp_path / "hangs.ipynb", code)
    temporary = tmp_path / "t"
    temporary.mkdir()
    program = "import typer; from toolkit.cli.verify import verify; typer.run(verify)"
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(Path(toolkit.__file__).parents[1])}
    command = [sys.executable, "-c", program, str(tmp_path / "hangs.ipynb")]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as running:
        try:
            while not (tmp_path / "pids").exists():
                assert running.poll() is None, running.stdout.read()
                time.sleep(0.05)
            running.send_signal(number)
            output, _ = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode not in (0, 1, 2)
    assert "Traceback" not in output
    assert output.count("Stopping the kernels.\n") == 1
    assert [is_gone(int(process)) for process in (tmp_path / "pids").read_text().split()] == [True, True]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("meanwhile", ["libraries are loaded", "a notebook runs"])
def test_interrupt_is_reported_at_once(tmp_path, monkeypatch, meanwhile):
    """An interrupt is reported before libraries have loaded and before kernels have stopped."""
    file = write_notebook(tmp_path / "a.ipynb", "1")
    began, reported, in_time = threading.Event(), threading.Event(), []

    def load(name):
        if meanwhile == "libraries are loaded":
            began.set()
            in_time.append(reported.wait(5))

    async def run_notebook(*arguments, **options):
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            in_time.append(reported.is_set())

    async def interrupted():
        verification = _Verification(tmp_path, False, 9, False, {}, lambda _: None, reported.set)
        task = asyncio.create_task(verification.verify_all([file], 1))
        await asyncio.to_thread(began.wait)
        task.cancel()
        await task

    monkeypatch.setattr("toolkit.verification.verifier.import_module", load)
    monkeypatch.setattr("toolkit.verification.verifier.run_notebook", run_notebook)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert in_time == [True]


def test_wrong_arguments(tmp_path, monkeypatch):
    """Wrong timeouts, wrong numbers of jobs and a missing extra are refused before anything runs."""
    file = write_notebook(tmp_path / "a.ipynb", "1")
    for wrong in ({"timeout": 0}, {"timeout": math.inf}, {"timeout": math.nan}, {"jobs": 0}):
        with pytest.raises(ConfigurationError, match="must be above 0"):
            verify([file], **wrong)
    monkeypatch.setattr("toolkit.verification.run_notebook.find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match="nbclient and ipykernel are not installed") as refused:
        verify([file])
    assert "pip install" in refused.value.next_step


def test_describe_error():
    """The line of the cell is named if it is known; the second line of a toolkit error is the next step."""
    place = CellPlace(4, "x")
    shown = describe_error(place, "KeyError", "'a'", "\x1b[36mCell \x1b[32mIn[2]\x1b[32m, line 7\x1b[39m\n")
    assert shown.what == "KeyError: 'a' (line 7)"
    assert describe_error(place, "KeyError", "", "").what == "KeyError"
    ours = describe_error(
        place, "CassetteMiss", "Nothing matches.\nRecord it.", "CassetteMiss: Nothing matches.\nRecord it."
    )
    assert (ours.what, ours.next_step) == ("CassetteMiss: Nothing matches.", "Record it.")
