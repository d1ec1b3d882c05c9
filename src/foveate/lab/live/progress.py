"""The progress of a job in parts, as frames for the page."""

import time

from foveate.lab.live.worker_channel import WorkerChannel

__all__ = ["Progress"]


class Progress:
    """What is done of each part of a fit, and an estimate of the time left.

    Args:
        channel: Where frames go and commands come from.
        parts: Names of the parts, each about as long as the others.
    """

    def __init__(self, channel: WorkerChannel, parts: list[str]) -> None:
        self._channel = channel
        self._shares: dict[str, tuple[int, int]] = dict.fromkeys(parts, (0, 1))
        self._start = time.monotonic()

    def report(self, part: str, done: int, total: int) -> None:
        """Note that ``done`` of ``total`` units of a part are done, and obey commands."""
        self._shares[part] = (done, max(1, total))
        self._channel.poll_commands(lambda _detailed: self.send())

    def send(self) -> None:
        """Send a frame with the parts and the time left to the page."""
        parts = [
            {"part": part, "done": done, "total": total}
            for part, (done, total) in self._shares.items()
        ]
        self._channel.send("frame", epoch=0, rows={}, outcomes={}, details={},
                           parts=parts, seconds_left=self.seconds_left())  # fmt: skip

    def seconds_left(self) -> float | None:
        """The time left if the rest goes as fast; None before anything can be said."""
        share = sum(done / total for done, total in self._shares.values()) / len(self._shares)
        spent = time.monotonic() - self._start
        return None if share < 0.02 or spent < 1 else round(spent * (1 - share) / share, 1)
