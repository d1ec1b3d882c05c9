"""Rewrite the tables in README and docs that are made from stored results.

Usage: ``python tools/docs_tables.py`` in the root of the repository. A page has the lines
``<!-- stored: NAME -->`` and ``<!-- end -->``; what stands between them is generated.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from foveate.records.record import write_atomically
from foveate.studies.reproduction import Result, stored_results
from result_tables import (
    calm_table,
    group_table,
    left_table,
    said_table,
    timed_table,
    tried_table,
    witness_table,
)

MARKED = re.compile(r"(?<=<!-- stored: )([\w-]+)( -->\n).*?(?=^<!-- end -->)", re.S | re.M)
LOOKED = dict.fromkeys(("accuracy %", "FT %", "SAIF %"), ".1f")
MADE: Mapping[str, tuple[str, str, Callable[[Result], str]]] = {
    "witness": ("witness", "", witness_table),
    "witness-in-short": ("witness", "", partial(witness_table, without=", pixels")),
    "witness-calm": ("witness", "", calm_table),
    "witness-tried": ("witness", "", tried_table),
    "witness-unbalanced": ("witness", "unbalanced", witness_table),
    "witness-linear": ("witness", "linear", partial(group_table, measures=LOOKED)),
    "table1-two-hours": (
        "table1",
        "two-hours",
        partial(timed_table, measures={"SAIF %": ".1f", "accuracy %": ".1f", "mean a_z": ".3f"}),
    ),
    "trust-validation": (
        "trust-validation",
        "",
        partial(
            group_table,
            measures={
                "models": ".0f",
                "least FT %": ".0f",
                "mean FT %": ".0f",
                "largest FT %": ".0f",
                "FT of the pick %": ".0f",
                "Spearman's ρ": ".2f",
                "mean error": ".3f",
                "classes astray": ".0f",
                "found by the detector": ".0f",
                "false calls": ".0f",
                "found by the lead alone": ".0f",
                "its false calls": ".0f",
            },
        ),
    ),
    "mnist-bags": (
        "mnist-bags",
        "",
        partial(
            group_table, measures={"bag AUC": ".3f", "segment AUROC": ".3f", "pointing %": ".0f"}
        ),
    ),
    "diagnosis-said": ("diagnosis", "", said_table),
    "diagnosis-left": ("diagnosis", "", left_table),
}
"""What a page can ask for: the stored study, its label, and how it is written."""


def renew(place: Path, results: Sequence[Result]) -> list[Path]:
    """Renew what pages ask for: all in a folder of docs, and the README beside it.

    Args:
        place: The folder.
        results: What is stored.

    Returns:
        The pages that have changed.
    """
    changed = []
    for path in [*sorted(place.rglob("*.md")), place.parent / "README.md"]:
        text = path.read_text("utf-8") if path.exists() else ""
        if (now := renewed(text, results)) != text:
            content = now.encode()
            write_atomically(path, lambda file, content=content: file.write(content))
            changed.append(path)
    return changed


def renewed(text: str, results: Sequence[Result]) -> str:
    r"""A page with the tables it asks for; one of which nothing is stored stays as it is.

    Example:
        >>> renewed("<!-- stored: witness -->\nold\n<!-- end -->", [])
        '<!-- stored: witness -->\nold\n<!-- end -->'
    """
    kept = {(own["table"], own.get("label", "")): own for own in results if own.get("cells")}

    def made(found: re.Match[str]) -> str:
        table, label, make = MADE[found[1]]
        own = kept.get((table, label))
        return f"{found[1]}{found[2]}{make(own)}\n" if own else found[0]

    return MARKED.sub(made, text)


if __name__ == "__main__":
    print(*renew(Path("docs"), stored_results()), sep="\n")
