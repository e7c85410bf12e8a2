"""Progress of long work: how far it is and how long it will take, silent in replay."""

from toolkit.long_work.loop import Progress, progress

__all__ = ["Progress", "progress"]
