"""`scan_files` looks for secrets in existing files and reports the findings.

`files` goes over files and folders. `contents` opens what a file holds, and `source_text` looks into one text, with the
engine of the recorder. `findings` has what comes out, without values, and
what to do about it; `allow` leaves out what `toolkit.toml` allows, and `report` writes the rest as text, JSON,
annotations or SARIF.
"""

from toolkit.scrubbing.scanning.files import scan_files
from toolkit.scrubbing.scanning.findings import Finding, FindingList, Unreadable

__all__ = ["Finding", "FindingList", "Unreadable", "scan_files"]
