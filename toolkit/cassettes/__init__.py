"""Recorded HTTP interactions: replayed offline, or recorded in vcrpy's format without secrets.

What happens to a request, in this order (function `through`, for any httpx client and for sessions):

1. `bodies` returns the recorded form of the request.
2. `Cassette` looks for a recording that matches, as the request is written and as it would be recorded without secrets
   (package `scrubbing`): `replay.player` plays the next take. If none matches and the mode does not record,
   `replay.differences` describes the nearest recordings.
3. Without a match the request is sent, and `bodies` passes the body of the answer on and collects it. A stream that
   has no end may be closed early: what was read is recorded and replayed.
4. `Cassette.record` hands the interaction to `recording.recorder`: scrubbed, checked for leaks, appended.

Open `cassette` for modes and what users can do with a cassette, `paths` for names and record modes, `format` for the
file, `importing` for what browsers and vcrpy recorded, `cell_cassette` for `%%cassette`, and `catalog` for what looks
at recordings from outside.
"""
