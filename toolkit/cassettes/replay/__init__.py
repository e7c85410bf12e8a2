"""Replay: find the recording that answers a request and play it, or say why there is none.

`matching` finds recordings by keys made from requests, and `player` plays the recordings in order. If nothing matches,
`differences` describes the nearest recording and how it differs. `player` refuses to send a request that contains a
stand-in from the recording.
"""
