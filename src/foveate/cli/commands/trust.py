"""The command that says whether the attention of a run can be trusted."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

from foveate.cli.command_line import this_command
from foveate.cli.flags import ColumnFlags, Json, given
from foveate.cli.progress import progress_of
from foveate.errors import FoveateError
from foveate.metrics.faults import diverged, divergence
from foveate.records.record import write_atomically
from foveate.records.runs import Run, open_run

if TYPE_CHECKING:
    from foveate.jobs.job import TrainedPart
    from foveate.records.record import Record
    from foveate.trust.examine import Trust

__all__ = ["trust_command"]


def trust_command(
    run: Path,
    /,
    *,
    data: Path | None = None,
    columns: ColumnFlags = None,
    paradigm: str | None = None,
    absent: str | None = None,
    relevant: int | None = None,
    as_json: Json = False,
) -> None:
    """Say whether the attention of trained models can be trusted, and for which classes.

    Parameters
    ----------
    run
        A race or a fit: its directory, or its name under runs/.
    data
        Labelled bags that a fit has not seen; its own test bags unless given.
    columns
        What the columns of --data are, where they differ from the fit's.
    paradigm
        Which of the run's paradigms; all unless given.
    absent
        Classes that mean that nothing is there (such as "normal"), parted by commas.
    relevant
        How many segments of a bag may be evidence; found from known relevance, else 1.
    as_json
        Print everything as JSON.
    """
    from foveate.jobs.job import NewBags, open_trained

    opened = open_run(run)
    job = open_trained(opened)
    new = None if data is None else NewBags(data, given(columns))
    names = _paradigms(opened, job.model_records(opened), paradigm)
    nothing = tuple(word.strip() for word in absent.split(",")) if absent else ()
    found = []
    with progress_of(quiet=True) as report:
        report("examining", 0, len(names))
        for part in job.trained_parts(opened, names, new, report):
            found.append(_examined(part, nothing, relevant))
            report("examining", len(found), len(names))
    _write(opened, found, data)
    if as_json:
        print(json.dumps([trust.to_json() for trust in found], ensure_ascii=False))
    else:
        _print(opened, found)


def _paradigms(run: Run, records: "dict[str, Record]", wanted: str | None) -> list[str]:
    """The parts to examine, sound ones alone; the one that a fit chose comes first."""
    lost = {name for name, record in records.items() if diverged(record)}
    parts = [name for name in records if _has_attention(name) and name not in lost]
    if wanted in lost or (lost and not parts):
        raise FoveateError(f"{run.path}: {divergence(records)}")
    if wanted is None:
        return sorted(parts, key=lambda name: name != _main_paradigm(run))
    if wanted not in parts:
        raise FoveateError(f"{run.path} has no paradigm '{wanted}'; it has {', '.join(parts)}")
    return [wanted]


def _main_paradigm(run: Run) -> str | None:
    """The paradigm that a fit chose; of a mixture, the one with the largest weight."""
    attention = run.manifest["config"].get("paradigms", ())
    weights = {k: w for k, w in run.manifest.get("weights", {}).items() if k in attention}
    chosen: str | None = run.manifest.get("chosen")
    return max(weights, key=lambda name: weights[name]) if weights else chosen


def _has_attention(name: str) -> bool:
    from foveate.attention.paradigms import PARADIGMS

    return not PARADIGMS.get(name)().whole_bag


def _examined(part: "TrainedPart", absent: tuple[str, ...], relevant: int | None) -> "Trust":
    from foveate.trust.examine import examine

    name, stack, bags, classes, known = part
    return examine(
        stack, name, bags, classes, known=known, absent=absent, relevant=relevant, name=name
    )


def _write(run: Run, found: "list[Trust]", data: Path | None) -> None:
    """The numbers and the page, each whole or not at all."""
    from foveate.report.pages.trust import write_trust_page

    kept = {
        "source": "the run's own held-out bags" if data is None else data.name,
        "command": this_command(),
        "chosen": _main_paradigm(run),
        "found": [t.to_json() for t in found],
    }
    text = json.dumps(kept, ensure_ascii=False, indent=1, allow_nan=False).encode()
    write_atomically(run.path / "trust.json", lambda file: file.write(text))
    write_trust_page(run.path / "trust.html", kept, name=Path(run.manifest["label"]).name)


def _print(run: Run, found: "list[Trust]") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"can the attention of {escape(run.name)} be trusted?")
    for heading in ("paradigm", "class", "verdict", "accuracy, %", "FT, estimated %", "measured %"):
        table.add_column(heading, justify="right" if "%" in heading else "left")
    for trust in found:
        for own in trust.by_class:
            judged = own["verdict"]["grade"] != "cannot tell"
            estimate = own["estimate"] if judged else None
            numbers = [own["accuracy"], estimate, own["measured"] and own["measured"].mean]
            cells = [
                "–" if value is None or math.isnan(value) else f"{100 * value:.0f}"
                for value in numbers
            ]
            who = _marked(run, trust.paradigm) if own is trust.by_class[0] else ""
            table.add_row(who, escape(own["name"]), own["verdict"]["grade"], *cells)
        table.add_section()
    Console(width=None if Console().is_terminal else 140).print(table)
    for trust in found:
        print(f"{_marked(run, trust.paradigm)}: {trust.verdict.grade}. {trust.verdict.said}")
        for line in (*trust.verdict.why, *(f"next: {step}" for step in trust.verdict.next)):
            print(f"  - {line}")
    if found[0].relevant == 1 and not found[0].localisation:
        print("one segment of a bag is taken to be evidence; --relevant N says that it may be N")
    print(f"page: {run.path / 'trust.html'}")


def _marked(run: Run, paradigm: str) -> str:
    """A paradigm's name, with a star where it is the one that the fit chose."""
    return f"{paradigm} *" if paradigm == _main_paradigm(run) else paradigm
