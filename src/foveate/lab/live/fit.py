"""A user's file in a worker: read and checked, columns corrected, then fitted and examined."""

import re
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foveate.errors import FoveateError
from foveate.lab.advice import without_flags
from foveate.lab.live.columns import column_table, suggest_absent
from foveate.lab.live.examination import EXAMINING, examine_fit
from foveate.lab.live.progress import Progress
from foveate.lab.live.role_guess import guess_roles
from foveate.lab.live.worker_channel import WorkerChannel
from foveate.lab.requests import FitRequest, UploadJob
from foveate.types import PartProgress

if TYPE_CHECKING:
    from foveate.io.collection import Collection
    from foveate.records.runs import Run
    from foveate.userdata.source import Origin

__all__ = ["fit_and_examine", "fit_uploaded_bags", "limit_memory"]

MAX_SEGMENTS, MAX_NUMBERS = 1_000_000, 50_000_000
MAX_MEMORY = 6 << 30  # bytes: a small file can unpack to more than the machine has
UNSAFE = re.compile(r"[^\w.() -]")  # letters that the name of a run must not have
GALLERY = 20  # bags on the page of evidence


def fit_uploaded_bags(channel: WorkerChannel, request: dict[str, Any]) -> None:
    """Read the file, wait for corrections of its columns, and fit it when asked to."""
    job = UploadJob(**request)
    while True:
        collection, origin = _read_and_describe(channel, job)
        channel.send("state", state="ready")
        question = channel.next_question()
        if "roles" in question:
            job = job.model_copy(update={"roles": question["roles"]})
            channel.send("state", state="running")
            channel.send("answer", number=question["number"], begun=True)
            continue
        try:
            fit_request = FitRequest(**question["fit"])
            if collection is None or not collection.labelled:
                raise FoveateError("these bags cannot be fitted: choose the column of labels")
        except FoveateError as error:
            channel.send("answer", number=question["number"], error=str(error))
            continue
        channel.send("state", state="running")
        channel.send("answer", number=question["number"], begun=True)
        channel.allow(fit_request.minutes)
        _fit(channel, collection, origin, fit_request, job.name)
        return


def _read_and_describe(
    channel: WorkerChannel, job: UploadJob
) -> tuple["Collection | None", "Origin"]:
    """Read the bags and send what is in the file, its columns and what is wrong with it."""
    from foveate.io.check import problems
    from foveate.io.description import describe
    from foveate.userdata.source import Origin

    guessed = False
    if not job.roles and (roles := _guessed_roles(job)):
        job = job.model_copy(update={"roles": roles})
        guessed = True
    origin = Origin(Path(job.path), job.columns())
    view: dict[str, Any] = {"kind": "own", "classes": [], "labelled": False, "problems": []}
    collection = None
    try:
        collection = _read(origin, job)
        view |= {
            "classes": list(collection.classes),
            "labelled": collection.labelled,
            "description": {**describe(collection).as_numbers(), "source": job.name},
            "problems": [_plain_problem(asdict(problem)) for problem in problems(collection)],
            "absent": suggest_absent(collection) if collection.labelled else None,
        }
    except FoveateError as error:
        view["error"] = without_flags(str(error).replace(job.path, job.name))
    view["columns"] = column_table(Path(job.path), collection, dict(job.roles), guessed=guessed)
    if collection is None and not view["columns"]:
        raise FoveateError(view["error"])
    channel.send("setup", view=view, seeds=[0], epochs=1)
    return collection, origin


def _guessed_roles(job: UploadJob) -> dict[str, str]:
    """Roles guessed from the values, if the usual names of columns do not say which is which."""
    path = Path(job.path)
    if path.suffix.lower() == ".npz":
        return {}
    names = {row["name"].lower() for row in column_table(path, None, {})}
    return {} if {"bag", "label"} <= names or {"text", "label"} <= names else guess_roles(path)


def _read(origin: "Origin", job: UploadJob) -> "Collection":
    """The bags under the user's name for them, unless there are too many to wait for."""
    limit_memory()
    try:
        collection = origin.read(labelled=None)
    except MemoryError:
        raise FoveateError(
            f"{job.name} unpacks to more than {MAX_MEMORY >> 30} GB: use 'foveate fit' in a "
            "terminal"
        ) from None
    rows = collection.bag.bank
    if len(rows) > MAX_SEGMENTS or rows.numel() > MAX_NUMBERS:
        raise FoveateError(
            f"the page fits up to {MAX_SEGMENTS:,} segments of {MAX_NUMBERS:,} numbers in all, "
            f"{job.name} has {len(rows):,} and {rows.numel():,}: use 'foveate fit' in a terminal"
        )
    return replace(collection, source=UNSAFE.sub("_", job.name)[-80:])


def _plain_problem(problem: dict[str, Any]) -> dict[str, Any]:
    return {**problem, "what": without_flags(problem["what"])}


def limit_memory() -> None:
    """No more than MAX_MEMORY for this process, where the system has such a limit."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, hard))


def _fit(
    channel: WorkerChannel,
    collection: "Collection",
    origin: Any,
    fit_request: FitRequest,
    name: str,
) -> None:
    """Fit and examine, with frames of progress for the page."""
    progress = Progress(channel, [*fit_request.paradigms, EXAMINING])

    run = fit_and_examine(collection, origin, fit_request, name, progress.report)
    progress.send()
    channel.send("result", run=run.name)


def fit_and_examine(
    collection: "Collection",
    origin: "Origin",
    fit_request: FitRequest,
    name: str,
    report: PartProgress,
    out: Path | None = None,
) -> "Run":
    """Fit, examine every paradigm on the test bags, and write pages and tables into the run.

    Args:
        collection: Labelled bags.
        origin: Where they were read from.
        fit_request: Paradigms, seeds, epochs and classes without evidence.
        name: The file's name for its user.
        report: Called as ``report(part, done, total)``.
        out: The run directory; a new one in the runs folder unless given.
    """
    from foveate.jobs.fit import start_fit
    from foveate.jobs.job import open_job
    from foveate.userdata.settings import FitSettings
    from foveate.userdata.split import held_out

    settings = FitSettings(  # one split: quick, and its test bags are examined
        folds=1,
        paradigms=fit_request.paradigms,
        seeds=fit_request.seeds,
        epochs=fit_request.epochs,
        supervise_focus=float(fit_request.teach),
        choose="attention",
    )
    run = start_fit(
        collection, settings, out, origin=origin, report=report, command=f"foveate fit {name}"
    )
    open_job(run).write_report(run, run.path / "report.html")
    test = held_out(collection, run.path)
    examine_fit(run, fit_request.absent, {}, report)
    _write_tables(run, test, name)
    return run


def _write_tables(run: "Run", test: "Collection", name: str) -> None:
    """What the chosen model says of every test bag and every segment, as tables and as a page."""
    from foveate.report.pages.explain import write_explain_page
    from foveate.userdata.ensemble import load_fitted
    from foveate.userdata.gallery import gallery_bags
    from foveate.userdata.predict import answer, bags_table, segments_table, write_table

    fitted = load_fitted(run.path)
    answers = answer(fitted, test)
    write_table(run.path / "bags.csv", bags_table(fitted, test, answers))
    write_table(run.path / "segments.csv", segments_table(fitted, test, answers))
    rows = range(min(GALLERY, len(test)))
    write_explain_page(
        run.path / "evidence.html",
        gallery_bags(fitted, test, answers.bag, answers.explained, rows),
        fitted.classes,
        paradigm=fitted.name,
        total=len(test),
        source=name,
        columns=fitted.preparation.columns,
        note=fitted.note,
    )
