"""Causes of differences between published and measured numbers, with what was measured of each."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from foveate.records.published import PublishedTable

__all__ = ["Cause", "Comparison", "Reference", "compare", "in_points", "needs_cause"]

Kind = Literal[
    "split",
    "size",
    "optimiser",
    "encoder",
    "collapsed seeds",
    "spread over seeds",
    "data subset",
    "labels",
    "reading",
    "open",
]
POINTS = 5.0  # of a percentage, above which a difference needs a cause
SHARES = ("agreement", "accuracy", "cosine", "attention on the topic word")  # between 0 and 1
PART = 1 / 3  # of a difference, which a cause must account for where that is measured


class Reference(NamedTuple):
    """A stored number that shows a cause.

    Args:
        table: The stored table.
        label: Its label; "" for the unchanged one.
        setting: Setting of the cell.
        measure: Measure of the cell; "" for the measure that differs.
        group: Group of the cell; "" for the group that differs.
        name: Row of the cell; "" for the row that differs.
    """

    table: str
    label: str
    setting: str
    measure: str = ""
    group: str = ""
    name: str = ""


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
        nearer: The same number without this difference in the set-up. Where it is stored, the cause
            applies only if it lies nearer to the published one by a third of the difference.
        in_range: Whether it applies only where the published number lies within the range of ours
            over seeds.
    """

    kind: Kind
    text: str
    groups: tuple[str, ...]
    setting: str = ""
    measured: tuple[Reference, ...] = ()
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    shown: bool = False
    nearer: Reference | None = None
    in_range: bool = False


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


def in_points(measure: str, difference: float) -> float | None:
    """A difference in points of a percentage or of BLEU; None where the measure has no such unit.

    Example:
        >>> in_points("SAIF %", -6.2), in_points("agreement", 0.25), in_points("NNZ", 9.0)
        (-6.2, 25.0, None)
    """
    if measure.endswith(("%", "BLEU-4")):
        return difference
    return 100 * difference if measure in SHARES else None


def needs_cause(measure: str, difference: float) -> bool:
    """Whether a difference is above five points.

    Example:
        >>> needs_cause("SAIF %", -6.2), needs_cause("SAIF %", 4.9), needs_cause("NNZ", 9.0)
        (True, False, False)
    """
    return abs(in_points(measure, difference) or 0.0) > POINTS


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
            at = _CellKey(table, label, group, setting, name, measure)
            cause, evidence = _cause_of(causes.get(table, ()), at, stored, published)
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

    table: str
    label: str
    group: str
    setting: str
    name: str
    measure: str

    def of(self, ref: Reference) -> "_CellKey":
        """Where the number is that a reference from here means."""
        measure = ref.measure.format(measure=self.measure.removesuffix(" %")) or self.measure
        return _CellKey(
            ref.table,
            ref.label,
            ref.group or self.group,
            ref.setting,
            ref.name or self.name,
            measure,
        )


def _cause_of(
    causes: Sequence[Cause], at: _CellKey, stored: Mapping[Any, Any], published: float
) -> tuple[Cause, str]:
    """The first cause that applies, and the stored numbers that show it."""
    for cause in causes:
        if (
            at.group.startswith(cause.groups)
            and (not cause.setting or at.setting == cause.setting)
            and (not cause.names or at.name in cause.names)
            and (not cause.labels or at.label in cause.labels)
        ):
            evidence = _evidence(cause, at, stored, published)
            if evidence is not None and (evidence or not cause.shown):
                return cause, evidence
    return UNKNOWN, ""


def _evidence(
    cause: Cause, at: _CellKey, stored: Mapping[Any, Any], published: float
) -> str | None:
    """The stored numbers that show a cause, in words; None where they show that it is none."""
    parts = []
    numbers = stored[at]
    if cause.in_range:
        values = [value for value in numbers.get("values", ()) if value is not None]
        if not values or not min(values) <= published <= max(values):
            return None
        parts.append(f"{min(values):.3g} to {max(values):.3g} over {len(values)} seeds")
    if cause.nearer is not None and (other := stored.get(at.of(cause.nearer))) is not None:
        moved, needed = other["mean"] - numbers["mean"], published - numbers["mean"]
        if moved / needed < PART:
            return None
        parts.append(
            f"{other['mean']:.3g} without this difference ({_seeds(other)}), which is "
            f"{in_points(at.measure, moved):+.1f} of the {in_points(at.measure, needed):+.1f} "
            "points"
        )
    for ref in cause.measured:
        key = at.of(ref)
        if key in stored and key != at:
            label = ref.label if ref.label != at.label else ""
            where = ", ".join(filter(None, (ref.name, ref.group, ref.setting, label)))
            parts.append(
                f"{key.measure} {stored[key]['mean']:.1f}" + (f" ({where})" if where else "")
            )
    return "; ".join(parts)


def _seeds(cell: Mapping[str, Any]) -> str:
    return "one seed" if cell["seeds"] == 1 else f"{cell['seeds']} seeds"
