"""Causes of differences between published and measured numbers, with what was measured of each."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from foveate.records.published import PublishedTable

__all__ = ["Cause", "Comparison", "Reference", "compare", "needs_cause"]

Kind = Literal[
    "split",
    "size",
    "optimiser",
    "encoder",
    "dead seeds",
    "collapsed seeds",
    "data subset",
    "labels",
    "open",
]
POINTS = 5.0  # of a percentage, above which a difference needs a cause


class Reference(NamedTuple):
    """A stored number that shows a cause.

    Args:
        table: The stored table.
        label: Its label; "" for the unchanged one.
        setting: Setting of the cell.
        measure: Measure of the cell; "" for the measure that differs.
        group: Group of the cell; "" for the group that differs.
    """

    table: str
    label: str
    setting: str
    measure: str = ""
    group: str = ""


class Cause(NamedTuple):
    """Why some numbers of a table differ from the published ones.

    Args:
        kind: What kind of difference in the set-up it is, or "open".
        text: In one sentence.
        groups: How the names of its groups begin.
        setting: Of which setting; "" for every one.
        measured: Stored numbers that show it.
        names: For which rows; empty for all.
        labels: In which stored results, by label; empty for all.
        shown: Whether it applies only where a stored number shows it.
    """

    kind: Kind
    text: str
    groups: tuple[str, ...]
    setting: str = ""
    measured: tuple[Reference, ...] = ()
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    shown: bool = False


class Comparison(NamedTuple):
    """A published number and a measured one.

    Args:
        table: The table.
        label: Label of the stored result; "" for the unchanged one.
        group: Its group.
        setting: Its setting.
        name: Its row.
        measure: Its measure.
        published: The published number.
        mean: The measured mean.
        seeds: Over how many seeds.
        cause: Why they differ, where that needs a cause.
        evidence: Stored numbers that show it, as text.
    """

    table: str
    label: str
    group: str
    setting: str
    name: str
    measure: str
    published: float
    mean: float
    seeds: int
    cause: Cause | None
    evidence: str

    @property
    def difference(self) -> float:
        """Measured minus published."""
        return self.mean - self.published


Results = Iterable[Mapping[str, Any]]


def needs_cause(measure: str, difference: float) -> bool:
    """Whether a difference is above five points of a percentage or of BLEU.

    Example:
        >>> needs_cause("SAIF %", -6.2), needs_cause("SAIF %", 4.9), needs_cause("NNZ", 9.0)
        (True, False, False)
    """
    return measure.endswith(("%", "BLEU-4")) and abs(difference) > POINTS


def compare(
    results: Results,
    tables: Mapping[str, PublishedTable],
    causes: Mapping[str, Sequence[Cause]],
) -> list[Comparison]:
    """Every published number with every measured one, with a cause where they are far apart.

    Args:
        results: Stored results.
        tables: The published tables by name.
        causes: The known causes by table, the first that applies counts.
    """
    results = [result for result in results if result.get("cells")]
    stored = {
        (r["table"], r.get("label", ""), c["group"], c["setting"], c["name"], c["measure"]): c
        for r in results
        for c in r["cells"]
    }
    rows = []
    for (table, label, group, setting, name, measure), cell in stored.items():
        published = tables[table].numbers.get((group, name, measure))
        if published is None:
            continue
        cause, evidence = None, ""
        if needs_cause(measure, cell["mean"] - published):
            at = _CellKey(label, group, setting, name, measure)
            cause, evidence = _cause_of(causes.get(table, ()), at, stored)
        rows.append(
            Comparison(
                table, label, group, setting, name, measure, published, cell["mean"],
                cell["seeds"], cause, evidence,
            )
        )  # fmt: skip
    return rows


UNKNOWN = Cause("open", "No measurement yet.", ())


class _CellKey(NamedTuple):
    """Where in the stored results a number is."""

    label: str
    group: str
    setting: str
    name: str
    measure: str


def _cause_of(
    causes: Sequence[Cause], at: _CellKey, stored: Mapping[Any, Any]
) -> tuple[Cause, str]:
    """The first cause that applies, and the stored numbers that show it."""
    for cause in causes:
        if (
            at.group.startswith(cause.groups)
            and (not cause.setting or at.setting == cause.setting)
            and (not cause.names or at.name in cause.names)
            and (not cause.labels or at.label in cause.labels)
        ):
            evidence = _evidence(cause, at, stored)
            if evidence or not cause.shown:
                return cause, evidence
    return UNKNOWN, ""


def _evidence(cause: Cause, at: _CellKey, stored: Mapping[Any, Any]) -> str:
    """The stored numbers that show a cause, in words."""
    parts = []
    for ref in cause.measured:
        measure = ref.measure.format(measure=at.measure.removesuffix(" %")) or at.measure
        key = (ref.table, ref.label, ref.group or at.group, ref.setting, at.name, measure)
        if key in stored:
            where = ", ".join(part for part in (ref.group, ref.setting or ref.label) if part)
            parts.append(f"{measure} {stored[key]['mean']:.1f}" + (f" ({where})" if where else ""))
    return "; ".join(parts)
