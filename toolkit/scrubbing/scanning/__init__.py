"""`scan_files` looks for secrets in existing files.

`files` goes over files and folders, `contents` opens what a file holds, and `source_text` looks into one text with the
engine of the recorder. `findings` has what comes out, and its reports; `allow` knows what `toolkit.toml` allows.
"""

from toolkit.scrubbing.scanning.files import scan_files
from toolkit.scrubbing.scanning.findings import Finding, FindingList, Unreadable

__all__ = ["Finding", "FindingList", "Unreadable", "scan_files"]
