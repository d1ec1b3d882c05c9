"""Write the made-up table that stands in for bird recordings in the tutorial.

Usage: ``python tools/make_examples.py`` in the root of the repository.
"""

import csv
import io
from pathlib import Path

import numpy as np

from foveate.records.record import write_atomically

FEATURES = ("duration", "centre", "bandwidth", "slope", "energy", "harmonics")
CALLS = {
    "wren": (1.5, 2.0, -0.5, 0.0, 0.5, 1.5),
    "creeper": (-1.0, 1.5, -1.0, 1.0, 0.0, 0.5),
    "flycatcher": (0.0, 0.0, 1.5, -1.5, 0.5, 0.0),
    "wind": (2.0, -2.0, 2.0, 0.0, -0.5, -2.0),
}
SITES, RECORDINGS = 15, 90


def birds_table(seed: int = 0) -> str:
    """Recordings cut into calls, as CSV: is the wren heard, and in which segments?

    Args:
        seed: Decides every number.
    """
    rng = np.random.default_rng(seed)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["recording", "wren", "site", *FEATURES, "is_wren"])
    others = [name for name in CALLS if name != "wren"]
    for i in range(RECORDINGS):
        audible = i % 2 == 0
        calls = list(rng.choice(others, rng.integers(4, 11)))
        for position in (
            rng.choice(len(calls), rng.integers(1, 3), replace=False) if audible else ()
        ):
            calls[position] = "wren"
        for call in calls:
            values = np.asarray(CALLS[call]) + rng.normal(scale=0.8, size=len(FEATURES))
            row = [f"{value:.2f}" for value in values]
            rows.writerow([f"r{i}", "yes" if audible else "no", f"site {i % SITES}", *row,
                           int(call == "wren")])  # fmt: skip
    return text.getvalue()


if __name__ == "__main__":
    write_atomically(Path("src/foveate/data/examples/birds.csv"), birds_table().encode())
