"""`scan_files` looks for secrets in existing files.

`files` goes through files and folders, `contents` unpacks files, and `source_text` searches one string with the
recorder's detection engine. `findings` defines the results and their reports; `allow` reads `toolkit.toml`.
"""

from toolkit.scrubbing.scanning.files import scan_files
from toolkit.scrubbing.scanning.findings import Finding, FindingList, Unreadable

__all__ = ["Finding", "FindingList", "Unreadable", "scan_files"]
