"""`scan` looks for secrets in existing files and lists the findings.

1. `scanner` is the rim: `scan_files` reads files, and `scan` returns the findings alone (`tk.scan`). `files` chooses
   the files below a folder: hidden ones and checkpoints of notebooks count, caches and hidden folders do not.
2. `opening` says what a file holds: text in any encoding, or something to open. `streams` decompresses, `archives`
   lists what an archive contains, `notebooks` the cells of a notebook, `pictures` the texts of a picture, and
   `embedded` the base64 in a text. What comes out is opened again, within the budget of the file.
3. `searching` looks into one text: for the secrets that the process knows, and with `unknown_secrets` for values in
   the places of credentials.
4. `findings` has what comes out: a finding names file, place, kind and a fingerprint, never the value. `json_lines`
   tells the line of a notebook's cell, and `advice` what to do about a finding.
5. `allow_list` leaves out what `toolkit.toml` allows, for a reason, and `baseline` what an old project has already.
"""

from toolkit.scrubbing.scanning.findings import Finding, FindingList, ScanReport, Unreadable
from toolkit.scrubbing.scanning.scanner import scan, scan_files

__all__ = ["Finding", "FindingList", "ScanReport", "Unreadable", "scan", "scan_files"]
