"""`scan_files` looks for secrets in existing files and reports the findings.

1. `scanner` is where a scan begins: `scan_files` reads files; `tk.scan`, two floors above, returns only its findings.
   `scanned_files` chooses the files below a folder: hidden ones and checkpoints of notebooks count, caches and hidden
   folders do not.
2. `contents` says what a file holds: text, which `slices` reads in any encoding and size, or something to open.
   `decompression` and `archives` open compressed files, `notebook_texts` the cells of a notebook, `pictures` the texts
   of a picture, and `embedded` the base64 in a text. What comes out is opened again, within the budget of the file.
   `file_text` says where in the file a text stands.
3. `searching` looks into one text: for the secrets that the process knows, and with `unknown_secrets` for values in
   the places of credentials.
4. `findings` has what comes out: a finding names file, place, kind and a fingerprint, never the value. `advice`
   says what to do about it, and `reports` writes all of them as text, JSON, annotations or SARIF.
5. `allow_list` leaves out what the project's `toolkit.toml` allows, for a reason; `baseline` leaves out what an old
   project has already.
"""

from toolkit.scrubbing.scanning.findings import Finding, FindingList, ScanReport, Unreadable
from toolkit.scrubbing.scanning.scanner import scan_files

__all__ = ["Finding", "FindingList", "ScanReport", "Unreadable", "scan_files"]
