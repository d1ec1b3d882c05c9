"""The command that says whether the attention of models can be trusted."""

import json
from pathlib import Path
from typing import Literal

from foveate.cli.app import this_command
from foveate.cli.column_flags import ColumnFlags, column_values
from foveate.cli.flags import Device, Json, Overwrite
from foveate.cli.outputs import check_outputs
from foveate.cli.trust_results import print_trust
from foveate.errors import FoveateError
from foveate.jobs.run_verdicts import examine_run
from foveate.records.runs import Run, open_run
from foveate.report.progress import progress_of
from foveate.report.trust_files import DeclaredEvidence, TrustResults, write_trust
from foveate.settings import use_device

__all__ = ["trust_command"]

RUNS_CODE = "--model runs the code of {module}, in a process of its own, with your permissions."


def trust_command(
    run: Path | None = None,
    /,
    *,
    data: Path | None = None,
    columns: ColumnFlags = None,
    paradigm: str | None = None,
    model: str | None = None,
    weights: Path | None = None,
    attention: Path | None = None,
    adjacency: Literal["chain", "complete"] | None = None,
    seed: int | None = None,
    absent: str | None = None,
    relevant: int | None = None,
    evidence: str | None = None,
    out: Path = Path("trust.html"),
    device: Device = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Say whether the attention of trained models can be trusted, and for which classes.

    Of a run, of a model from elsewhere (--model with --data), or of a table of attention weights
    (--attention with --data).

    Parameters
    ----------
    run
        A race or a fit: its directory, or its name under runs/.
    data
        Labelled bags that the models have not seen; a run's own test bags unless given.
    columns
        What the columns of --data are, where they differ from the fit's.
    paradigm
        Which of the run's paradigms; all unless given.
    model
        A model from elsewhere: package.module:object (an instance, or a factory without arguments;
        its code is run), a .onnx file with an attention output, or the folder of a transformers
        model.
    weights
        Weights for --model, .safetensors.
    attention
        A table (CSV, JSON lines, Parquet, NPZ) in place of a model, with columns bag, segment (from
        0) and attention (scores or weights); optionally p_CLASS and segment_p_CLASS.
    adjacency
        Links between segments, for graph models: neighbours in the order of rows, or all.
    seed
        Set before every call of a --model that draws random numbers.
    absent
        Classes that mean that nothing is there (such as "normal"), separated by commas; inferred
        unless given.
    relevant
        How many segments of a bag may be evidence; inferred unless given.
    evidence
        Which kind of evidence is meant, where a verdict names two: A or B, or by class as
        CLASS=A,CLASS=B.
    out
        The page to write for --model and --attention; numbers are written beside it, as .json. The
        page of a run is in its directory.
    as_json
        Print everything as JSON.
    """
    from foveate.jobs.job import NewBags, job_class

    empty = tuple(word.strip() for word in absent.split(",")) if absent else ()
    flags = DeclaredEvidence(empty, relevant, _parse_classes(evidence))
    if model is None and attention is None:
        if run is None:
            raise FoveateError("name a run, or a model with --model, or a table with --attention")
        if weights is not None or adjacency is not None or seed is not None:
            raise FoveateError("--weights, --adjacency and --seed are for --model")
        new = None if data is None else NewBags(data, column_values(columns))
        opened = open_run(run)
        with use_device(device):
            if job_class(opened).per_label:
                return _examine_labels(opened, flags, data or paradigm, as_json=as_json)
            with progress_of(quiet=True) as report:
                results = examine_run(
                    opened, flags, this_command(), report, paradigm=paradigm, new=new
                )
    else:
        if run is not None or paradigm is not None:
            raise FoveateError("give a run, or --model, or --attention, not two of them")
        if device is not None:
            raise FoveateError("--device is for runs: a --model runs where its own code puts it")
        check_outputs(out, inputs=(data, weights, attention), overwrite=overwrite)
        json_file = out.with_suffix(".json")
        check_outputs(json_file, inputs=(data, attention), overwrite=overwrite or out.exists())
        results = _of_files(data, columns, model, weights, attention, adjacency, seed, flags, out)
        write_trust(results)
    print_trust(results, as_json=as_json)


def _examine_labels(run: Run, flags: DeclaredEvidence, other: object, *, as_json: bool) -> None:
    """The verdict on every label of a multi-label run."""
    from foveate.jobs.job import open_job

    if other is not None:
        raise FoveateError(
            "--data and --paradigm are for the fit of one label: name its directory, RUN/label1/fit"
        )
    with progress_of(quiet=True) as report:
        examined = open_job(run).add_verdict(run, flags, this_command(), report)
    verdicts = examined.manifest["verdicts"]
    if as_json:
        print(json.dumps(verdicts, ensure_ascii=False))
        return
    for name, grade in verdicts.items():
        print(f"{name}: {grade}")
    print(f"page: {run.path / 'report.html'}")


def _of_files(
    data: Path | None,
    columns: ColumnFlags,
    model: str | None,
    weights: Path | None,
    attention: Path | None,
    adjacency: Literal["chain", "complete"] | None,
    seed: int | None,
    flags: DeclaredEvidence,
    out: Path,
) -> TrustResults:
    """The verdict on a model from elsewhere, or on a table."""
    import sys

    from foveate.jobs.examine_files import ExamineRequest, examine_files, examine_in_process

    if data is None:
        raise FoveateError("--data is needed: labelled bags that the model has not seen")
    if model is not None and attention is not None:
        raise FoveateError("give --model or --attention, not both")
    request = ExamineRequest(
        str(data), column_values(columns), model, None if weights is None else str(weights),
        None if attention is None else str(attention), adjacency, flags.absent, flags.relevant,
        flags.evidence, seed,
    )  # fmt: skip
    if model is None:
        if weights is not None or adjacency is not None or seed is not None:
            raise FoveateError("--weights, --adjacency and --seed are for --model")
        examination, name = examine_files(request), attention.name if attention else ""
        examination["paradigm"] = "table"
    else:
        if ":" in model and not Path(model).exists():
            print(RUNS_CODE.format(module=model.partition(":")[0]), file=sys.stderr)
        examination, name = examine_in_process(request), Path(model).name
    return TrustResults(
        (examination,), name, data.name, out.with_suffix(".json"), out, this_command(),
        declared=flags,
    )  # fmt: skip


def _parse_classes(text: str | None) -> str | dict[str, str] | None:
    """The kinds of evidence that are meant, for all classes or by class."""
    if text is None or "=" not in text:
        return text
    pairs = [part.strip().rpartition("=") for part in text.split(",")]
    return {name: kind for name, _, kind in pairs}
