from __future__ import annotations

from hypothesis import settings

# A slow machine is no failure: no test of ours is timed, and hypothesis's deadline is a timer.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
