"""Every secret planted in a project of 20 files is found alone, in its place, and no report shows it."""

from pathlib import Path
from random import Random

import pytest
from canaries import assert_absent

from tests.planted_project import PROJECT, write_project
from toolkit.scrubbing.scanning import scan_files
from toolkit.scrubbing.scanning.findings import FORMATS


@pytest.mark.parametrize("file", PROJECT, ids=lambda file: file.name)
def test_each_secret_alone(tmp_path, file):
    """A file is flagged for each of its secrets alone, and not at all for placeholders."""
    secrets = file.secrets(Random(13))  # noqa: S311 - the same in each run
    found = [len(scan_files(file.write(tmp_path, variant))) for variant in file.variants(secrets)]
    assert all(found), (found, secrets)
    assert scan_files(file.write(tmp_path, file.without_secrets())) == []
    both = scan_files(file.write(tmp_path, secrets))
    assert len({finding.fingerprint for finding in both}) == len(secrets)


def test_nothing_is_shown(tmp_path):
    """No secret of the project is in a report, in the table or in a finding, in any form."""
    secrets = write_project(tmp_path, Random(14))  # noqa: S311
    report = scan_files(tmp_path)
    shown = [write(report, Path("/")) for write in FORMATS.values()]
    shown.append(repr(report))
    assert_absent(shown, secrets, layers=1)
