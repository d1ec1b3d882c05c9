"""Figures of a campaign that runs in slices: rounds done and outcomes counted, in a JSON file."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Figures"]


@dataclass
class Figures:
    """Outcomes of all rounds so far.

    A round that was interrupted is not counted and is repeated by the next slice.

    Args:
        path: The file; None keeps the figures in memory.
        rounds: Rounds done.
        counts: Outcomes by the kind of input or job.
    """

    path: Path | None = None
    rounds: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | None) -> "Figures":
        """The figures of earlier slices; none if there is no file yet."""
        if path is None or not path.exists():
            return cls(path)
        stored = json.loads(path.read_text())
        return cls(path, stored["rounds"], {k: Counter(v) for k, v in stored["counts"].items()})

    def add(self, done: Mapping[str, Counter[str]]) -> None:
        """Count a finished round and write the file."""
        self.rounds += 1
        for name, counts in done.items():
            self.counts.setdefault(name, Counter()).update(counts)
        if self.path is not None:
            content = {"rounds": self.rounds, "counts": self.counts}
            part = self.path.with_name(f".{self.path.name}")
            part.write_text(json.dumps(content, indent=1) + "\n")
            os.replace(part, self.path)

    @property
    def total(self) -> Counter[str]:
        """Outcomes over all kinds."""
        return sum(self.counts.values(), Counter[str]())
