"""Recorded HTTP interactions: replayed offline, or recorded in vcrpy's format with no secret in them.

What happens to a request, in this order (function `through` in `transport`, for any httpx client and for sessions):

1. `conversion` reads the request as a cassette holds it, and the scrubber (room `scrubbing`) takes secrets out.
2. `Cassette.find` looks for a recording that matches: `replay.player` plays the next take, or `replay.misses`
   says what comes nearest if the mode does not record.
3. Without a match the request is sent, and `streams` passes the body of the answer on and collects it.
4. `Cassette.record` hands the interaction to `recording.recorder`: scrubbed, checked for leaks, appended.

Open `cassette` for modes and what users can do with a cassette, `paths` for names and record modes, `format` for
the file, `cell_cassette` for `%%cassette`, `cassette_card` for what notebooks show.
"""
