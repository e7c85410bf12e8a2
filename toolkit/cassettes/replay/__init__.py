"""Replay: find the recording that answers a request, play it, and say why there is none.

`matching` makes keys of requests and finds recordings by them, and `player` plays those in order. If nothing matches,
`differences` says which recording is nearest and how it differs. A request that is sent instead must not
hold a stand-in of the recording, which `player` refuses.
"""
