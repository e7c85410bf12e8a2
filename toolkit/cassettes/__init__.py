"""Record HTTP interactions in vcrpy's format without secrets, and replay them offline.

What happens to a request, in this order (function `through`, for any httpx client and for sessions):

1. The player of the cassette (`replay.player`) looks for a recording of the request, either as it is written or as it
   would be recorded without secrets (package `scrubbing`), and plays it. If none matches and the mode does not record,
   `replay.differences` describes the nearest recording.
2. Without a match the request is sent, and `bodies` passes on the body of the response while collecting it. A stream
   that has no end may be closed early: what was read is recorded and replayed.
3. The recorder of the cassette (`recording.recorder`) scrubs the interaction, checks it for leaks and appends it.

`cassette` has the public class, `format` reads and writes the file, `selection` resolves names and record modes and
keeps the cassette of `%%cassette`, `importing` converts recordings made by browsers and vcrpy, and `catalog` lists,
checks and changes recordings on disk.
"""
