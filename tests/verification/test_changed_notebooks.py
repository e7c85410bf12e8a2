"""What git says changed, in repositories in every state."""

import shutil
import subprocess

import pytest
from notebook_files import write_notebook

from toolkit.core.errors import ConfigurationError
from toolkit.verification.notebooks import changed_notebooks

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
    pytest.mark.usefixtures("home"),  # nobody's git configuration
]


def git(folder, *arguments):
    name = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "x")


@pytest.fixture
def notebooks(project):
    """Return two committed notebooks; the second one plays the cassette `märz`."""
    folder = project / "my notebooks"
    folder.mkdir()
    (project / "cassettes").mkdir()
    (project / "cassettes" / "märz.yaml").write_text("version: 1\n")
    first = write_notebook(folder / "first.ipynb", "print('hello')")
    second = write_notebook(folder / "sécond.ipynb", "x = 1\n%%cassette märz --mode none")
    git(project, "init", "--quiet")
    commit(project)
    return first, second


def names(notebooks, since="HEAD"):
    return [path.stem for path in changed_notebooks(notebooks, since)]


def test_changed_and_new_notebooks(notebooks, monkeypatch):
    """Changed, staged, untracked and renamed notebooks count, whatever their names; ignored ones do not."""
    first, second = notebooks
    assert names(notebooks) == []
    write_notebook(first, "2")
    git(first.parent, "add", ".")
    assert names(notebooks) == ["first"]
    renamed = second.rename(second.with_name("a\nb → c.ipynb"))
    new = write_notebook(first.parent / "new" / "third.ipynb", "3")
    hidden = write_notebook(first.parent / "ignored.ipynb", "4")
    (first.parent / ".gitignore").write_text("ignored.ipynb")
    assert names([first, renamed, new, hidden]) == ["first", "a\nb → c", "third"]
    git(first.parent, "checkout", "--detach", "--quiet")
    monkeypatch.setenv("GIT_DIR", "nothing")  # as git sets it for a hook of another repository
    assert names([first, renamed]) == ["first", "a\nb → c"]


@pytest.mark.parametrize("change", ["changed", "gone", "renamed"])
def test_changed_cassette(notebooks, project, change):
    """A notebook that names a cassette counts if the cassette changed or is gone, under a new name too."""
    cassette = project / "cassettes" / "märz.yaml"
    if change == "changed":
        cassette.write_text("version: 1\n# more\n")
    elif change == "gone":
        cassette.unlink()
    else:
        git(project, "mv", str(cassette), str(cassette.with_name("april.yaml")))
    assert names(notebooks) == ["sécond"]


@pytest.mark.parametrize(
    "code",
    [
        "tk.Session(cassette='a')",
        'Cassette(f"x/y/a.yaml")',
        "%%cassette 'x/a.yaml' --mode none\nprint('it\\'s')",
        "%time tk.Session(cassette='a')  # don't",
        "%%time\n!echo it's\ntk.Session(cassette='a')",
        "an unfinished cell's (",
    ],
)
def test_names_of_cassettes(project, code):
    """Names, paths and magics name a cassette, whatever apostrophes stand around; other words do not."""
    git(project, "init", "--quiet")
    notebooks = [write_notebook(project / "b.ipynb", code), write_notebook(project / "c.ipynb", "a = 'ab'  # 'a'")]
    commit(project)
    (project / "a.yaml").write_text("version: 1\n")
    assert names(notebooks) == ["b"]


def test_since_a_commit(notebooks, project):
    """What the branch changed since it left another one counts, with what is not committed; theirs does not."""
    first, second = notebooks
    git(project, "checkout", "--quiet", "-b", "mine")
    write_notebook(second, "2")
    commit(project)
    git(project, "checkout", "--quiet", "main")
    write_notebook(first, "theirs")
    commit(project)
    git(project, "checkout", "--quiet", "mine")
    assert names(notebooks) == []
    assert names(notebooks, "main") == ["sécond"]
    write_notebook(first, "mine")
    assert names(notebooks, "main") == ["first", "sécond"]


@pytest.mark.parametrize("since", ["nothing", "--output=x", "main\nx", "unrelated"])
def test_unknown_commit(notebooks, project, since):
    """A name that is not a commit, or has no history in common, is an error that says so."""
    git(project, "checkout", "--quiet", "--orphan", "unrelated")
    (project / "other").touch()
    commit(project)
    git(project, "checkout", "--quiet", "main")
    with pytest.raises(ConfigurationError, match="git cannot tell what changed") as caught:
        changed_notebooks(notebooks, since)
    assert caught.value.about == "since"
    assert not list(project.rglob("x"))
