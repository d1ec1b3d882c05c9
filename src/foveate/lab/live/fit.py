"""A user's bags in a process of their own: checked, then fitted, examined and written down."""

import json
import re
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.errors import FoveateError
from foveate.lab.live.worker_channel import WorkerChannel
from foveate.lab.requests import FitOwn, OwnBags
from foveate.records.record import write_atomically

if TYPE_CHECKING:
    from foveate.io.collection import Collection
    from foveate.records.runs import Run
    from foveate.trust.examine import Trust
    from foveate.userdata.fitted import Fitted
    from foveate.userdata.source import Origin

__all__ = ["fit_uploaded_bags"]

MOST_SEGMENTS, MOST_NUMBERS = 1_000_000, 50_000_000
MOST_MEMORY = 6 << 30  # bytes: a small file can unpack to more than the machine has
ODD = re.compile(r"[^\w.() -]")  # what has no place in the name of a run
SHOWN = 20  # bags on the page of evidence


def fit_uploaded_bags(desk: WorkerChannel, given: dict[str, Any]) -> None:
    """Say what is in the file and what is wrong with it; then wait to be asked for a fit."""
    from foveate.io.check import describe, problems
    from foveate.userdata.source import Origin

    job = OwnBags(**given)
    asked = {key: getattr(job, key) for key in ("bag", "label", "text", "group", "relevance")}
    origin = Origin(Path(job.path), {key: value for key, value in asked.items() if value})
    collection = _bounded(origin, job)
    found = [asdict(problem) for problem in problems(collection)]
    about = {**describe(collection).as_numbers(), "source": job.name}
    scene: dict[str, Any] = {"kind": "own", "classes": list(collection.classes)}
    scene |= {"description": about, "problems": found, "labelled": collection.labelled}
    desk.send("hello", scene=scene, seeds=[0], epochs=1)
    desk.send("state", state="ready")
    question = desk.asked()
    try:
        wanted = FitOwn(**question["fit"])
        if not collection.labelled:
            raise FoveateError("bags without labels cannot be fitted: name the column of labels")
    except FoveateError as error:
        desk.send("answer", number=question["number"], error=str(error))
        raise
    desk.send("answer", number=question["number"], begun=True)
    desk.send("state", state="running")
    _fit(desk, collection, origin, wanted, job.name)


def _bounded(origin: "Origin", job: OwnBags) -> "Collection":
    """The bags under the user's name for them, unless there are too many to wait for."""
    _limit_memory()
    try:
        collection = origin.read(labelled=None)
    except MemoryError:
        raise FoveateError(
            f"{job.name} unpacks to more than {MOST_MEMORY >> 30} GB: use 'foveate fit' in a "
            "terminal"
        ) from None
    except FoveateError as error:
        raise FoveateError(str(error).replace(job.path, job.name)) from None
    rows = collection.bag.bank
    if len(rows) > MOST_SEGMENTS or rows.numel() > MOST_NUMBERS:
        raise FoveateError(
            f"the page fits up to {MOST_SEGMENTS:,} segments of {MOST_NUMBERS:,} numbers in all, "
            f"{job.name} has {len(rows):,} and {rows.numel():,}: use 'foveate fit' in a terminal"
        )
    return replace(collection, source=ODD.sub("_", job.name)[-80:])


def _limit_memory() -> None:
    """No more than MOST_MEMORY for this process, where the system knows such a limit."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, hard))


def _fit(
    desk: WorkerChannel, collection: "Collection", origin: Any, wanted: FitOwn, name: str
) -> None:
    """Fit, examine what was chosen on the test bags, and leave pages and tables in the run."""
    from foveate.jobs.fit import start_fit
    from foveate.jobs.job import open_job
    from foveate.userdata.fitted import load_fitted
    from foveate.userdata.settings import FitSettings
    from foveate.userdata.split import held_out

    bars: dict[str, tuple[int, int]] = {}

    def show(_whole: bool) -> None:
        parts = [{"part": part, "done": done, "total": all_} for part, (done, all_) in bars.items()]
        desk.send("frame", epoch=0, rows={}, ends={}, details={}, parts=parts)

    def report(part: str, done: int, total: int) -> None:
        bars[part] = (done, max(1, total))
        desk.poll_commands(show)

    settings = FitSettings(**{k: v for k, v in wanted.model_dump().items() if v is not None})
    run = start_fit(
        collection, settings, origin=origin, report=report, command=f"foveate fit {name}"
    )
    open_job(run).write_report(run, run.path / "report.html")
    report("examining", 0, 1)
    fitted = load_fitted(run.path)
    test = held_out(collection, run.path)
    trust = _examined(run, fitted, test, name)
    report("examining", 1, 1)
    _write_tables(run, fitted, test, name)
    show(True)
    numbers = trust.to_json()
    desk.send(
        "result",
        run=run.name,
        chosen=run.manifest["chosen"],
        rule=run.manifest["rule"],
        scores=run.manifest["scores"],
        verdict=numbers["verdict"],
        by_class=[
            {"name": own["name"], "accuracy": own["accuracy"], "verdict": own["verdict"]}
            for own in numbers["by_class"]
        ],
    )


def _examined(run: "Run", fitted: "Fitted", test: "Collection", name: str) -> "Trust":
    from foveate.report.pages.trust import write_trust_page
    from foveate.trust.examine import examine

    known = None if test.known is None else test.known.numpy()
    bag = fitted.bags(test)
    trust = examine(fitted.stack, fitted.name, bag, fitted.classes, known=known, name=fitted.name)
    kept = {"source": "its held-out bags", "command": f"foveate trust {run.name}"}
    whole = {**kept, "found": [trust.to_json()]}
    text = json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False).encode()
    write_atomically(run.path / "trust.json", lambda file: file.write(text))
    write_trust_page(run.path / "trust.html", whole, name=Path(name).name)
    return trust


def _write_tables(run: "Run", fitted: "Fitted", test: "Collection", name: str) -> None:
    """What the model says of every test bag and every segment, as tables and as a page."""
    from foveate.report.pages.explain import write_explain_page
    from foveate.userdata.gallery import gallery_bags
    from foveate.userdata.predict import answer, bags_table, segments_table, write_table

    found = answer(fitted, test)
    write_table(run.path / "bags.csv", bags_table(fitted, test, found))
    write_table(run.path / "segments.csv", segments_table(fitted, test, found))
    rows = range(min(SHOWN, len(test)))
    write_explain_page(
        run.path / "evidence.html",
        gallery_bags(fitted, test, found.bag, found.explained, rows),
        fitted.classes,
        paradigm=fitted.name,
        total=len(test),
        source=name,
        columns=fitted.preparation.columns,
    )
