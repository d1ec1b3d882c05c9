"""Update the tables of stored results in README and docs, and the list of commands.

Usage: ``python tools/docs_tables.py`` in the root of the repository. The text between the lines
``<!-- stored: NAME -->`` and ``<!-- end -->`` of a page is generated.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from foveate.cli import COMMANDS
from foveate.records.record import write_atomically
from foveate.studies.reproduction import Result, stored_results
from real_bags_tables import (
    joined_runs,
    real_bags_short_table,
    real_bags_table,
    real_maps_table,
    real_removal_table,
)
from result_tables import (
    calibrated_table,
    diagnosis_table,
    group_table,
    permutation_table,
    short_table,
    table_with_duration,
    variants_table,
    witness_table,
)

MARKER = re.compile(r"(?<=<!-- stored: )([\w-]+)( -->\n).*?(?=^<!-- end -->)", re.S | re.M)
FOCUS_MEASURES = dict.fromkeys(("accuracy %", "FT %", "SAIF %"), ".1f")
TRUST_MEASURES = {
    "cases": ".0f",
    "least FT %": ".0f",
    "largest FT %": ".0f",
    "chance %": ".0f",
    "old ρ": ".2f",
    "old error": ".2f",
    "old false alarms": ".0f",
    "old misses": ".0f",
    "auditor ρ": ".2f",
    "auditor error": ".2f",
    "error where said": ".2f",
    "false alarms": ".0f",
    "misses": ".0f",
    "cannot tell %": ".0f",
    "interval holds %": ".0f",
    "FT of the pick %": ".0f",
    "FT of the old pick %": ".0f",
    "best FT %": ".0f",
}
TRUST_SHORT = {
    key: TRUST_MEASURES[key]
    for key in (
        "cases", "least FT %", "largest FT %", "old false alarms", "old misses",
        "error where said", "false alarms", "misses", "cannot tell %", "interval holds %",
    )
}  # fmt: skip
NOT_IN_README = (", pixels", "m=5", "m=5, frozen features", ", first annotator")
TABLES: Mapping[str, tuple[str, str, Callable[[Result], str]]] = {
    "witness": ("witness", "", witness_table),
    "witness-in-short": ("witness", "", partial(witness_table, without=", pixels")),
    "readme": ("witness", "", partial(short_table, without=NOT_IN_README)),
    "witness-calm": ("witness", "", calibrated_table),
    "witness-tried": ("witness", "", variants_table),
    "witness-unbalanced": ("witness", "unbalanced", witness_table),
    "witness-linear": ("witness", "linear", partial(group_table, measures=FOCUS_MEASURES)),
    "table1-two-hours": (
        "table1",
        "two-hours",
        partial(
            table_with_duration, measures={"SAIF %": ".1f", "accuracy %": ".1f", "mean a_z": ".3f"}
        ),
    ),
    "taught": (
        "taught",
        "four-sets",
        partial(
            group_table,
            measures=dict.fromkeys(("accuracy %", "FT %", "FT by another auditor %"), ".1f"),
        ),
    ),
    "trust": ("trust", "", partial(group_table, measures=TRUST_SHORT)),
    "trust-second": ("trust-second", "", partial(group_table, measures=TRUST_MEASURES)),
    "trust-third": ("trust-third", "", partial(group_table, measures=TRUST_MEASURES)),
    "mnist-bags": (
        "mnist-bags",
        "",
        partial(
            group_table, measures={"bag AUC": ".3f", "segment AUROC": ".3f", "pointing %": ".0f"}
        ),
    ),
    "mil-assumptions": (
        "mil-assumptions",
        "",
        partial(group_table, measures={"AUC, clue reversed": ".3f", "AUC, as in training": ".3f"}),
    ),
    "real-bags": ("real-bags", "", real_bags_table),
    "real-bags-short": ("real-bags", "", real_bags_short_table),
    "real-maps": ("real-bags", "", real_maps_table),
    "real-removal": ("real-bags", "", real_removal_table),
    "diagnosis-said": ("diagnosis", "", diagnosis_table),
    "diagnosis-left": ("diagnosis", "", permutation_table),
}
"""The available tables: stored study, label of the result, and the function that formats it."""


def update_pages(folder: Path, results: Sequence[Result]) -> list[Path]:
    """Update the generated tables of all pages in the docs folder and of the README beside it.

    Args:
        folder: The docs folder.
        results: The stored results.

    Returns:
        The pages that have changed.
    """
    changed = []
    for path in [*sorted(folder.rglob("*.md")), folder.parent / "README.md"]:
        text = path.read_text("utf-8") if path.exists() else ""
        if (updated := update_tables(text, results)) != text:
            write_atomically(path, updated.encode())
            changed.append(path)
    return changed


def update_tables(text: str, results: Sequence[Result]) -> str:
    r"""Replace the generated tables of a page; a table without a stored result is unchanged.

    Example:
        >>> update_tables("<!-- stored: witness -->\nold\n<!-- end -->", [])
        '<!-- stored: witness -->\nold\n<!-- end -->'
    """
    stored = {(r["table"], r.get("label", "")): r for r in results if r.get("cells")}
    if ("real-bags", "") in stored:
        runs = [run for (table, _), run in sorted(stored.items()) if table == "real-bags"]
        stored["real-bags", ""] = joined_runs(runs)

    def replacement(match: re.Match[str]) -> str:
        table, label, make = TABLES[match[1]]
        result = stored.get((table, label))
        return f"{match[1]}{match[2]}{make(result)}\n" if result else match[0]

    return MARKER.sub(replacement, text)


def commands_page() -> str:
    """The page of the reference that lists the commands."""
    rows = "".join(
        f"| `foveate {name}` | {about} |\n" for name, (_, about) in sorted(COMMANDS.items())
    )
    return (
        "# Commands\n\n`foveate COMMAND --help` lists the flags. Errors of users are one sentence "
        f"and exit code 2.\n\n| command | |\n|---|---|\n{rows}"
    )


if __name__ == "__main__":
    print(*update_pages(Path("docs"), stored_results()), sep="\n")
    write_atomically(Path("docs/commands.md"), commands_page().encode())
