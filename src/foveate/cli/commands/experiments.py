"""Commands around learning dynamics: flows, experiments, the ledger of claims."""

import json
import sys
from pathlib import Path
from typing import Any, Literal

from foveate.cli.app import start_options
from foveate.cli.flags import DEFAULTS, ExecutionFlags, Flag, Json, Overwrite, SettingFlags
from foveate.cli.outputs import check_outputs
from foveate.errors import FoveateError
from foveate.jobs.job import show_results
from foveate.report.progress import progress_of

__all__ = [
    "changed_setting",
    "claims_command",
    "flow_command",
    "run_command",
]


def flow_command(
    system: Literal["vr23"] = "vr23",
    /,
    *,
    m: int = 20,
    classes: int = 20,
    until: float = 1000.0,
    alpha: float | None = None,
    switch: float | None = None,
    points: int = 200,
    out: Path | None = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Solve the gradient flows of attention models and compare them with their exact solutions.

    Parameters
    ----------
    system
        Which paper's system; vr23 is the linear-orthogonal setting.
    m
        Segments per bag.
    classes
        Number of classes.
    until
        Time at which the flow ends.
    alpha
        Fixed attention on the foreground; the focus model is not trained.
    switch
        Add the hybrid, soft until this time and hard after.
    points
        Number of times at which values are given, evenly spaced from 0.
    out
        The figure to write, .svg or .png; flow.svg unless given.
    as_json
        Print the numbers as JSON, and draw nothing unless --out is given.
    """
    from foveate.dynamics.vr23_table import flow_record, flow_rows

    curves = flow_record(m, classes, until, alpha, switch, points)
    if as_json:
        print(json.dumps(flow_rows(curves)))
    if out is None and as_json:
        return
    from foveate.report.pages.flow import print_flow, write_flow

    check_outputs(out or Path("flow.svg"), overwrite=overwrite)
    path = write_flow(curves, m, classes, out or Path("flow.svg"))
    if not as_json:
        print_flow(curves, m, classes, until)
        print(f"figure: {path}")


def run_command(
    name: str,
    /,
    *,
    scale: Literal["smoke", "small", "paper"] = "small",
    seeds: int | None = None,
    set: SettingFlags = (),
    out: Path | None = None,
    execution: ExecutionFlags = DEFAULTS,
) -> None:
    """Run an experiment (a study of the papers) at one of its scales.

    Parameters
    ----------
    name
        A name in foveate list experiments.
    scale
        smoke takes seconds, small suits two cores, paper is the published size.
    seeds
        How many seeds, where the experiment has seeds.
    set
        A setting to change, as key=value; may be repeated.
    out
        The run directory; a new one under runs/ unless given.
    """
    from foveate.jobs.experiment import start_experiment

    changes = dict(changed_setting(text) for text in set) | (
        {} if seeds is None else {"seeds": seeds}
    )
    with start_options(execution) as options:
        run = start_experiment(name, scale, changes, out=out, **options)
    show_results(run, as_json=execution.as_json)


def claims_command(
    *,
    paper: str | None = None,
    run: Flag = False,
    long: Flag = False,
    report: Flag = False,
    scale: Literal["smoke", "small", "paper"] = "small",
    docs: Path | None = None,
    as_json: Json = False,
) -> None:
    """List every claim of the papers with its criterion and verdict (the ledger).

    Parameters
    ----------
    paper
        Only the claims of one paper, by key.
    run
        Run the experiments behind the claims; what was run before is not run again.
    long
        With --run: also those that take more than a few minutes each.
    report
        Write a page with a figure for each claim.
    scale
        At which scale.
    docs
        A folder to write one Markdown page per paper to.
    as_json
        Print the ledger as JSON.
    """
    from foveate.cli.tables import print_ledger
    from foveate.report.pages.ledger import write_docs
    from foveate.studies.ledger import (
        known_ledger,
        known_papers,
        long_ones,
        run_ledger,
        write_ledger_report,
    )

    papers = known_papers()
    if paper is not None and paper not in papers:
        raise FoveateError(f"paper must be one of {', '.join(papers)}, got '{paper}'")
    if run:
        with progress_of(quiet=as_json) as progress:
            ledger = run_ledger(scale, paper, progress, long=long)
        if left_out := long_ones(scale, paper):
            print(f"left out, add --long: {', '.join(sorted(left_out))}", file=sys.stderr)
    else:
        ledger = known_ledger(scale)
    if report:
        print(f"page: {write_ledger_report(ledger, paper)}", file=sys.stderr)
    if docs is not None:
        for path in write_docs(ledger, docs):
            print(path, file=sys.stderr)
    if as_json:
        print(json.dumps(ledger.as_json(paper), ensure_ascii=False))
    else:
        print_ledger(ledger, paper)


def changed_setting(text: str) -> tuple[str, Any]:
    """A setting and its value from ``key=value``."""
    key, sign, value = text.partition("=")
    if not sign:
        raise FoveateError(f"--set takes key=value, got '{text}'")
    try:
        return key.replace("-", "_"), json.loads(value)
    except ValueError:
        return key.replace("-", "_"), value
