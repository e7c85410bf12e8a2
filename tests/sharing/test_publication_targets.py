"""A publication is written whole or not at all, and never over something else."""

from __future__ import annotations

import io
import json
import zipfile
from importlib.metadata import version

import pytest

from toolkit.core.errors import ConfigurationError
from toolkit.sharing.publishing import checking, companions, targets
from toolkit.sharing.publishing.targets import TargetShape

FILES = {
    "toolkit.toml": companions.settings_text("cassettes").encode(),
    "notebooks/a.ipynb": b"{}",
    "cassettes/a.yaml": b"",
}


def names_below(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_shapes(tmp_path):
    """The suffix decides; a notebook alone would lack its recordings."""
    assert [targets.shape_of(tmp_path / name) for name in ("a", "a.zip", "A.HTML")] == list(TargetShape)
    with pytest.raises(ConfigurationError, match="cannot be a single notebook"):
        targets.shape_of(tmp_path / "a.ipynb")
    with pytest.raises(ConfigurationError, match=r"not a \.pdf file"):
        targets.shape_of(tmp_path / "a.pdf")
    assert targets.shape_of(tmp_path / "report-v1.2") is TargetShape.FOLDER


def test_an_archive_is_the_same_every_time():
    """Equal files in any order give equal bytes: sorted, undated, in one folder."""
    archive = targets.archive_of(FILES, "report")
    assert archive == targets.archive_of(dict(reversed(FILES.items())), "report")
    entries = zipfile.ZipFile(io.BytesIO(archive)).infolist()
    assert [entry.filename for entry in entries] == sorted(f"report/{name}" for name in FILES)
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}


def test_a_folder_is_replaced_only_if_it_was_published(tmp_path):
    """An earlier publication is replaced with all that was in it; another folder, or one with other files, is not."""
    target = tmp_path / "copy"
    targets.write_folder(target, {**FILES, "cassettes/old.yaml": b""})
    with pytest.raises(ConfigurationError, match="exists already"):
        targets.check_target(target, TargetShape.FOLDER, replace=False)
    targets.check_target(target, TargetShape.FOLDER, replace=True)
    targets.write_folder(target, FILES)
    assert names_below(target) == sorted(FILES)
    (target / "thesis.doc").touch()
    with pytest.raises(ConfigurationError, match=r"thesis\.doc"):
        targets.check_target(target, TargetShape.FOLDER, replace=True)
    with pytest.raises(ConfigurationError, match="not a published folder"):
        targets.check_target(tmp_path, TargetShape.FOLDER, replace=True)
    with pytest.raises(ConfigurationError, match="not a file to replace"):
        targets.check_target(target, TargetShape.ARCHIVE, replace=True)
    with pytest.raises(ConfigurationError, match=r"thesis\.doc is not a folder"):
        targets.check_target(target / "thesis.doc" / "no" / "where", TargetShape.FOLDER, replace=True)


def test_missing_folders_are_made(tmp_path):
    """The folders above a target are made when it is written, not before."""
    for name, shape in (("a/b/copy", TargetShape.FOLDER), ("c/d/copy.zip", TargetShape.ARCHIVE)):
        targets.check_target(tmp_path / name, shape, replace=False)
    assert list(tmp_path.iterdir()) == []
    targets.write_folder(tmp_path / "a/b/copy", FILES)
    targets.write_file(tmp_path / "c/d/copy.zip", b"1")
    assert names_below(tmp_path) == sorted([*(f"a/b/copy/{name}" for name in FILES), "c/d/copy.zip"])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://git.example/a/b.git", f"git+https://git.example/a/b.git@{'ab' * 20}"),
        ("https://token@git.example/a/b.git", ""),
        ("https://me:word@git.example/a/b.git", ""),
        ("https://${TOKEN}@git.example/a/b.git", ""),
        ("https://git.example/a/b.git?token=1", ""),
        ("https://git.example/a b.git", ""),
        ("ssh://git@git.example/a/b.git", ""),
        ("file:///home/me/b", ""),
        (1, ""),
    ],
)
def test_a_repository_is_named_without_local_paths_and_credentials(url, expected):
    """What was installed from a commit of a git repository is installed from there again, if anyone may see the URL."""
    record = {"url": url, "vcs_info": {"vcs": "git", "commit_id": "ab" * 20}}
    assert companions.reference_of(json.dumps(record)) == expected
    assert companions.reference_of(json.dumps({**record, "subdirectory": "x"})) == ""
    assert companions.reference_of(json.dumps({"url": url, "dir_info": {"editable": True}})) == ""
    assert companions.reference_of("") == ""


REFERENCE = f"git+https://git.example/a/b.git@{'0123456789abcdef' * 2}01234567"
FROM_GIT = {"url": REFERENCE[4:-41], "vcs_info": {"vcs": "git", "commit_id": REFERENCE[-40:]}}


@pytest.mark.parametrize(
    ("record", "first", "in_readme"),
    [
        (json.dumps(FROM_GIT), f"service-access-toolkit[lab] @ {REFERENCE}", False),
        (None, f"service-access-toolkit[lab]=={version('service-access-toolkit')}", False),
        (json.dumps({"url": "file:///home/me/a", "dir_info": {}}), "# Install service-access-toolkit[lab] ", True),
    ],
    ids=["repository", "index", "folder"],
)
def test_requirements_name_the_toolkit_where_readers_get_it(tmp_path, monkeypatch, record, first, in_readme):
    """The toolkit is never left to an index that it did not come from, and no scan takes a commit for a secret."""
    monkeypatch.setattr(companions, "_direct_url", lambda: record)
    text = companions.requirements([], {"httpx": "1"})
    assert text.startswith(first)
    assert text.endswith("\nhttpx==1\n")
    contents = companions.CopiedContents("notebooks/a.ipynb", (), (), 0)
    assert ("from where the author of this copy has it" in companions.readme_text(contents)) is in_readme
    (tmp_path / "requirements.txt").write_text(text)
    checking.check_with_scan(tmp_path)


def test_nothing_is_left_if_a_folder_cannot_be_written(tmp_path):
    """A name that no file can have ends the writing; the earlier publication stays, and nothing lies beside it."""
    target = tmp_path / "copy"
    targets.write_folder(target, FILES)
    with pytest.raises(ConfigurationError, match="Cannot write"):
        targets.write_folder(target, {"a": b"", "a/b": b""})
    assert names_below(tmp_path) == sorted(f"copy/{name}" for name in FILES)


def test_requirements_name_what_the_notebook_imports():
    """What its code imports is pinned with the toolkit; the standard library is not, magics do no harm."""
    text = companions.requirements(["%matplotlib inline\nimport os, pytest\nfrom hypothesis.strategies import text"])
    lines = text.splitlines()
    assert "service-access-toolkit[lab]" in lines[0]
    assert [line.partition("==")[0] for line in lines if line.startswith(("hyp", "py", "os"))] == [
        "hypothesis",
        "pyarrow",
        "pytest",
    ]
    assert all(line.partition("==")[2] for line in lines[1:])


def test_readme_has_one_command():
    """The README names the notebook, its recordings, and one command that runs it."""
    contents = companions.CopiedContents("notebooks/a.ipynb", ("cassettes/a.yaml",), ("live",), 1)
    text = companions.readme_text(contents)
    assert text.count(companions.run_command("notebooks/a.ipynb")) == 1
    assert "1 value of the recordings, such as personal data, has a stand-in" in text
    assert "No values were replaced" in companions.readme_text(companions.CopiedContents("a.ipynb", (), (), 0))
