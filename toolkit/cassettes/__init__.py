"""Record HTTP interactions in vcrpy's format without secrets, and replay them offline.

What happens to a request, in this order (function `through`, for any httpx client and for sessions):

1. The cassette's player (`replay.player`) looks for a recording of the request, first as it is written, then as it
   would be recorded without secrets (package `scrubbing`), and plays it. If nothing matches and the mode does not
   record, `replay.differences` describes the nearest recording.
2. If nothing matches and the mode records, the request is sent, and `bodies` passes on the response body while
   collecting it. A stream without an end may be closed early: the part that was read is recorded and replayed.
3. The cassette's recorder (`recording.recorder`) scrubs the interaction, checks it for leaks and appends it.

`cassette` contains the public class, `format` reads and writes the file, `selection` resolves names and record modes
and keeps track of the `%%cassette` in use, `importing` converts recordings made by browsers and vcrpy, and `catalog`
lists, checks and changes recordings on disk.
"""
