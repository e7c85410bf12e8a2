"""Recorded HTTP interactions: replayed offline, or recorded in vcrpy's format without secrets.

What happens to a request, in this order (function `through`, for any httpx client and for sessions):

1. The player of the cassette (`replay.player`) looks for a recording that matches, as the request is written and as it
   would be recorded without secrets (package `scrubbing`), and plays the next one. If none matches and the mode does
   not record, `replay.differences` describes the nearest recording.
2. Without a match the request is sent, and `bodies` passes the body of the answer on and collects it. A stream that
   has no end may be closed early: what was read is recorded and replayed.
3. The recorder of the cassette (`recording.recorder`) scrubs the interaction, checks it for leaks and appends it.

Open `cassette` for modes and what users can do with a cassette, `format` for the file, `selection` for names, record
modes and `%%cassette`, `importing` for what browsers and vcrpy recorded, and `catalog` for what looks at recordings
from outside.
"""
