"""Notebooks that run in real kernels: verdicts, and that nothing is left behind.

A kernel takes a second to start, so notebooks of many cells run once and serve many tests.
"""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from notebook_files import odd_notebooks, write_notebook

import toolkit
from toolkit.core.errors import ConfigurationError
from toolkit.verification import Outcome, verify

SECRET = "AWS_SECRET_ACCESS_KEY"

LOOKS = (
    "# Everything that Jupyter shows, and what it makes anew in each process",
    "import sys, warnings\nprint('out')\nprint('err', file=sys.stderr)\nwarnings.warn('careful')",
    "import asyncio\nawait asyncio.sleep(0)\n{str(n) for n in range(9)}",
    "import pandas as pd\nframe = pd.DataFrame({'a': [1, 2], 'b': [0.5, 0.25]})\nframe",
    "import ipywidgets\nslider = ipywidgets.IntSlider(description='x')\nslider",
    "captured = ipywidgets.Output()\nwith captured:\n    print('inside')\ncaptured",
    "%%html\n<b onclick='x'>page</b>",
    "frame.style.highlight_max()",
    "object()",
    ("frame['missing']", "raises-exception"),
    "def divide():\n    return 1 / 0",
    ("divide()", "raises-exception"),
    "import pathlib\npathlib.Path.cwd()",
    "import toolkit\ntoolkit.Session(cassette='tour').accounts().shape",
    "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2]);",
    "",
)
MADE_ANEW = (
    "%config InlineBackend.figure_formats = ['svg']\nplt.plot([1, 3, 2]);",
    "import pathlib, tempfile\npathlib.Path.home(), tempfile.gettempdir()",
)
OTHER_PROCESS = """
import subprocess, sys
code = "import socket; socket.create_server(('', 0))"
subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.splitlines()[-1]
""".strip()
SHUT = (
    "import os\n[name for name in os.environ if 'SECRET' in name or 'KEY' in name.replace('KEYRING', '')]",
    "import httpx\ntry:\n    httpx.get('http://127.0.0.1:9')\nexcept httpx.ConnectError as error:\n    print(error)",
    "import keyring\ntype(keyring.get_keyring()).__module__",
    "os.environ['TOOLKIT_OFFLINE'], os.environ['TZ'], sorted(os.listdir(os.path.expanduser('~')))",
    "get_ipython().history_manager.hist_file, get_ipython().kernel.parent.transport",
    OTHER_PROCESS,
    "[name for name in os.listdir(os.environ['MPLCONFIGDIR']) if 'fontlist' in name]",
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
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    write_notebook(folder / "good" / "looks.ipynb", *LOOKS, *MADE_ANEW)
    write_notebook(folder / "good" / "shut.ipynb", *SHUT)
    # Without a limit of time, nbclient sometimes waits for ever for a cell with an Output widget.
    others = [cell for cell in LOOKS if "Output()" not in cell]
    write_notebook(folder / "others" / "nbclient.ipynb", *others, kernelspec=kernel)
    no_errors = [cell for cell in others if isinstance(cell, str)]  # papermill stops at any
    write_notebook(folder / "others" / "papermill.ipynb", *no_errors, kernelspec=kernel)
    write_notebook(folder / "bad" / "raises.ipynb", "1", "# Words", "x = 1\nraise ValueError('one\\ntwo')", "never")
    write_notebook(folder / "bad" / "ends.ipynb", "import os\nos._exit(3)")
    write_notebook(folder / "bad" / "calls.ipynb", "import httpx\nhttpx.get('http://127.0.0.1:9')")
    write_notebook(folder / "bad" / "misses.ipynb", "import toolkit as tk\ntk.Session(cassette='none-such').accounts()")
    write_notebook(folder / "bad" / "clock.ipynb", "import time", "print(time.time_ns())")
    (folder / "bad" / "torn.ipynb").write_text('{"cells": [')
    return folder


@pytest.fixture(scope="module")
def updated(folder):
    """Verify notebooks once with update=True; return the verdicts by name."""
    steps = []
    secret = secrets.token_hex(16)
    os.environ[SECRET] = secret
    try:
        verdicts = verify([folder / "good", folder / "bad"], update=True, watch=steps.append)
    finally:
        del os.environ[SECRET]
    assert secret not in "".join(path.read_text() for path in folder.rglob("*.ipynb"))
    assert "raises.ipynb: cell 3 of 4" in steps
    return {verdict.path.stem: verdict for verdict in verdicts}


@pytest.fixture(scope="module")
def good(folder, updated):
    """Return the stored contents of the updated notebooks by name."""
    return {path.stem: json.loads(path.read_text()) for path in (folder / "good").iterdir()}


def outputs(content, number):
    return content["cells"][number - 1]["outputs"]


def text_of(output):
    return "".join(output.get("text") or output["data"]["text/plain"])


def test_updated_notebooks_are_the_same(folder, updated, tmp_path):
    """After an update, in a read-only folder, every notebook is the same, and no file is written but the log."""
    assert [updated[name].outcome for name in ("looks", "shut")] == [Outcome.UPDATED] * 2
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    good = folder / "good"
    good.chmod(0o555)
    try:
        again = verify([good], play_log=tmp_path)
    finally:
        good.chmod(0o755)
    assert [(verdict.outcome, verdict.differences, verdict.failure) for verdict in again] == [
        (Outcome.SAME, (), None)
    ] * 2
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert list(tmp_path.iterdir())


@pytest.mark.parametrize("program", ["nbclient", "papermill"])
def test_run_and_saved_by_another_program(folder, program, tmp_path):
    """A notebook that another program ran and saved is the same; with one character changed, its cell is named."""
    notebook, ran = (folder / "others" / f"{name}.ipynb" for name in (program, f"{program}-ran"))
    command = ["papermill", "--no-progress-bar", str(notebook), str(ran), "--cwd", str(notebook.parent)]
    if program == "nbclient":
        command = ["nbconvert", "--execute", "--to", "notebook", str(notebook), "--output", str(ran)]
    variables = {**os.environ, "PYTHONPATH": str(Path(toolkit.__file__).parents[1]), "IPYTHONDIR": str(tmp_path)}
    options = {"env": variables, "capture_output": True, "text": True, "timeout": 180}
    done = subprocess.run([sys.executable, "-m", *command], **options, check=False)
    assert done.returncode == 0, done.stderr
    (verdict,) = verify([ran])
    assert (verdict.failure, verdict.differences) == (None, ())
    data = ran.read_bytes()
    ran.write_bytes(data.replace(b"<td>0.25", b"<td>0.75"))
    (verdict,) = verify([ran], save_to=tmp_path / "as" / "executed")
    ran.unlink()
    assert verdict.outcome is Outcome.DIFFERS
    (difference,) = verdict.differences
    assert difference.cell.first_line == "import pandas as pd"
    assert "-0.75" in difference.diff
    assert b"<td>0.75" not in verdict.saved_to.read_bytes()


def test_stored_form_is_repeatable(good):
    """Stored outputs hold no address, time or identifier of a run, nor a folder of this machine."""
    looks = good["looks"]
    stored = json.dumps(looks)
    assert text_of(outputs(looks, 9)[0]) == "<object at 0x...>"
    assert text_of(outputs(looks, 13)[0]) == "PosixPath('[project]/good')"
    assert text_of(outputs(looks, len(LOOKS) + 2)[0]) == "(PosixPath('~'),\n '[temporary]')"
    assert "[packages]/pandas" in stored
    assert "site-packages" not in stored
    assert str(Path.home()) not in stored
    assert all(set(cell["metadata"]) <= {"tags"} for cell in looks["cells"])
    assert "widgets" not in looks["metadata"]
    out, err = outputs(looks, 2)
    assert (out["name"], text_of(out)) == ("stdout", "out\n")
    assert text_of(err).startswith("err\n[cell]:4: UserWarning: careful\n")
    (error,) = outputs(looks, 12)
    assert "return" in "\n".join(error["traceback"])
    assert "In[10]" in "\n".join(error["traceback"])  # the cell that defines the function
    assert text_of(outputs(looks, 14)[0]).startswith("(")


def test_kernel_has_no_secrets_and_no_network(good):
    """Variables, network, keyring, home folder and history are not the user's; its processes have no network."""
    shown = [text_of(outputs(good["shut"], number)[0]) for number in range(1, len(SHUT) + 1)]
    assert shown[0] == "[]"
    assert "the network is off" in shown[1]
    assert shown[2] == "'keyring.backends.null'"
    assert shown[3].startswith("('1', 'UTC', ['.ipython'")
    assert shown[4] == "(':memory:', 'ipc')"
    assert "the network is off" in shown[5]
    assert "fontlist" in shown[6]  # else matplotlib might say in a cell that it makes the list


@pytest.mark.parametrize(
    ("name", "cell", "words", "next_step"),
    [
        ("raises", 3, "ValueError: one (line 2)", "JupyterLab"),
        ("ends", 1, "The kernel failed: DeadKernelError: Kernel died", "JupyterLab"),
        ("calls", 1, "the network is off while a notebook is verified; replay a recording", "JupyterLab"),
        ("misses", 1, "CassetteMiss: ", "TOOLKIT_OFFLINE"),
        ("torn", None, "torn.ipynb is not a notebook in format 4", "JupyterLab"),
    ],
)
def test_failure_is_described(updated, name, cell, words, next_step):
    """A failure names the cell, the last line of the error and what to do, without a traceback."""
    failure = updated[name].failure
    assert updated[name].outcome is Outcome.FAILED
    assert (failure.cell and failure.cell.number) == cell
    assert words in failure.what
    assert next_step in failure.next_step
    assert "\n" not in failure.what


def test_skipped_cell_keeps_its_outputs(tmp_path):
    """Outputs of a skipped cell stay through an update and compare as the same; one that fails is saved as it ran."""
    file = write_notebook(tmp_path / "a.ipynb", ("1 / 0", "skip-execution"), "2", "")
    content = json.loads(file.read_text())
    shown = {"output_type": "stream", "name": "stdout", "text": [f"<x at 0x7fa40bb8fc90> in {tmp_path}\n"]}
    content["cells"][0] |= {"outputs": [shown], "execution_count": 7}
    content["cells"][2]["outputs"] = [shown]  # of a cell that is empty now
    file.write_text(json.dumps(content))
    assert verify([file], update=True)[0].outcome is Outcome.UPDATED
    skipped, ran, empty = json.loads(file.read_text())["cells"]
    assert (skipped["outputs"], skipped["execution_count"]) == ([shown], 7)
    assert (ran["execution_count"], empty["outputs"]) == (1, [])
    failing = write_notebook(tmp_path / "b.ipynb", "1 + 1", "raise KeyError('oops')", "3")
    same, failed = verify([file, failing], save_to=tmp_path / "out")
    assert same.outcome is Outcome.SAME
    assert same.saved_to.read_bytes() == file.read_bytes()
    cells = json.loads(failed.saved_to.read_bytes())["cells"]
    assert [output["output_type"] for cell in cells for output in cell["outputs"]] == ["execute_result", "error"]
    with pytest.raises(ConfigurationError, match="would replace"):
        verify([file], save_to=tmp_path)


def test_unstable_notebook_is_not_updated(folder, updated):
    """An update whose second run differs is refused, with the cells that differ between the two runs."""
    assert updated["clock"].outcome is Outcome.UNSTABLE
    assert [difference.cell.number for difference in updated["clock"].differences] == [2]
    assert '"outputs": []' in (folder / "bad" / "clock.ipynb").read_text()


def test_hanging_cell(tmp_path, capsys):
    """A cell that exceeds its time is named; its kernel and the connections to it are gone, and nothing is printed."""
    file = write_notebook(tmp_path / "hangs.ipynb", "import time\nwhile True: time.sleep(0.01)")
    this = psutil.Process()
    before = this.children(), this.num_threads()
    (verdict,) = verify([file], timeout=0.5)
    assert verdict.failure.cell.number == 1
    assert "0.5 seconds" in verdict.failure.what
    assert (this.children(), this.num_threads()) == before
    assert capsys.readouterr().err == ""


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
            processes = [psutil.Process(int(process)) for process in (tmp_path / "pids").read_text().split()]
            running.send_signal(number)
            output, _ = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode not in (0, 1, 2)
    assert "Traceback" not in output
    assert psutil.wait_procs(processes, timeout=60)[1] == []  # those that are alive
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "text"), [*odd_notebooks().items(), ("torn", '{"cells": ['), ("old", '{"nbformat": 3}')]
)
def test_odd_files(tmp_path, name, text):
    """A file that is not a notebook of format 4 is a failure in one line; also where a loop runs, as in Jupyter."""
    file = tmp_path / f"{name}.ipynb"
    file.write_text(text)

    async def in_a_loop():
        return verify([file])

    [verdict] = asyncio.run(in_a_loop())
    assert verdict.failure.what.startswith(f"{name}.ipynb is not a notebook in format 4: ")
    assert "\n" not in verdict.failure.what
