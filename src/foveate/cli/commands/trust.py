"""The command that says whether the attention of models can be trusted."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from foveate.cli.flags import ColumnFlags, Json, Overwrite, given
from foveate.cli.outputs import check_outputs
from foveate.cli.trust_results import TrustResults, print_trust, write_trust
from foveate.errors import FoveateError
from foveate.metrics.faults import diverged, divergence
from foveate.records.runs import Run, open_run
from foveate.report.progress import progress_of

if TYPE_CHECKING:
    from foveate.jobs.job import NewBags, TrainedPart
    from foveate.records.record import Record
    from foveate.trust.auditor import Audit
    from foveate.trust.examine import Trust

__all__ = ["Declared", "examine_run", "main_paradigm", "trust_command"]

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
    from foveate.jobs.job import NewBags

    empty = tuple(word.strip() for word in absent.split(",")) if absent else ()
    flags = Declared(empty, relevant, _meant(evidence))
    if model is None and attention is None:
        if run is None:
            raise FoveateError("name a run, or a model with --model, or a table with --attention")
        if weights is not None or adjacency is not None or seed is not None:
            raise FoveateError("--weights, --adjacency and --seed are for --model")
        new = None if data is None else NewBags(data, given(columns))
        opened = open_run(run)
        if "labels" in opened.manifest:
            return _examine_labels(opened, flags, data or paradigm, as_json=as_json)
        results = examine_run(opened, flags, paradigm, new)
    else:
        if run is not None or paradigm is not None:
            raise FoveateError("give a run, or --model, or --attention, not two of them")
        check_outputs(out, inputs=(data, weights, attention), overwrite=overwrite)
        beside = out.with_suffix(".json")
        check_outputs(beside, inputs=(data, attention), overwrite=overwrite or out.exists())
        results = _of_files(data, columns, model, weights, attention, adjacency, seed, flags, out)
        write_trust(results)
    print_trust(results, as_json=as_json)


def _examine_labels(run: Run, flags: "Declared", other: object, *, as_json: bool) -> None:
    """The verdict on every label of a multi-label run."""
    from foveate.cli.multi_label import examine_labels

    if other is not None:
        raise FoveateError(
            "--data and --paradigm are for the fit of one label: name its directory, RUN/label1/fit"
        )
    verdicts = examine_labels(run, flags).manifest["verdicts"]
    if as_json:
        print(json.dumps(verdicts, ensure_ascii=False))
        return
    for name, grade in verdicts.items():
        print(f"{name}: {grade}")
    print(f"page: {run.path / 'report.html'}")


class Declared(NamedTuple):
    """What the user declared of the classes and their evidence.

    Args:
        absent: Classes that mean that nothing is there.
        relevant: How many segments of a bag may be evidence.
        evidence: Which kind of evidence is meant.
    """

    absent: tuple[str, ...] = ()
    relevant: int | None = None
    evidence: str | dict[str, str] | None = None


def _of_files(
    data: Path | None,
    columns: ColumnFlags,
    model: str | None,
    weights: Path | None,
    attention: Path | None,
    adjacency: Literal["chain", "complete"] | None,
    seed: int | None,
    flags: Declared,
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
        str(data), given(columns), model, None if weights is None else str(weights),
        None if attention is None else str(attention), adjacency, flags.absent, flags.relevant,
        flags.evidence, seed,
    )  # fmt: skip
    if model is None:
        if weights is not None or adjacency is not None or seed is not None:
            raise FoveateError("--weights, --adjacency and --seed are for --model")
        found, name = examine_files(request), attention.name if attention else ""
        found["paradigm"] = "table"
    else:
        if ":" in model and not Path(model).exists():
            print(RUNS_CODE.format(module=model.partition(":")[0]), file=sys.stderr)
        found, name = examine_in_process(request), Path(model).name
    return TrustResults((found,), name, data.name, out.with_suffix(".json"), out)


def examine_run(
    run: Run, flags: Declared, paradigm: str | None = None, new: "NewBags | None" = None
) -> TrustResults:
    """Examine the models of a finished run, and write the verdict, its page and the model card.

    Args:
        run: A race or a fit.
        flags: What the user declared.
        paradigm: Which of the run's paradigms; all unless given.
        new: Labelled bags that a fit has not seen; its own held-out bags unless given.

    Returns:
        A verdict per paradigm, and advice on which to use.
    """
    from foveate.jobs.job import open_trained
    from foveate.trust.advice import compare, overfits

    job = open_trained(run)
    records = job.model_records(run)
    names = _paradigms(run, records, paradigm)
    results: list[Trust] = []
    shared: Audit | None = None
    with progress_of(quiet=True) as report:
        report("examining", 0, len(names))
        for part in job.trained_parts(run, names, new, report):
            shared = _audited(part) if shared is None else shared
            known = _Known(shared, tuple(records), overfits(records[part.name]))
            results.append(_examined(part, flags, known))
            report("examining", len(results), len(names))
    found = TrustResults(
        tuple(trust.to_json() for trust in results),
        run.name,
        "the run's own held-out bags" if new is None else new.path.name,
        run.path / "trust.json",
        run.path / "trust.html",
        Path(run.manifest["label"]).name,
        main_paradigm(run),
        tuple(compare(results, main_paradigm(run))),
    )
    write_trust(found)
    if run.is_a("fit"):
        from foveate.userdata.model_card import write_model_card

        write_model_card(run)
    return found


class _Known(NamedTuple):
    """What is known beside the bags: their audit, the paradigms tried, and overfitting."""

    audit: "Audit | None"
    tried: tuple[str, ...]
    overfitted: bool


def _meant(text: str | None) -> str | dict[str, str] | None:
    """The kinds of evidence that are meant, for all classes or by class."""
    if text is None or "=" not in text:
        return text
    pairs = [part.strip().rpartition("=") for part in text.split(",")]
    return {name: kind for name, _, kind in pairs}


def _paradigms(run: Run, records: "dict[str, Record]", wanted: str | None) -> list[str]:
    """The parts to examine, sound ones alone; the one that a fit chose comes first."""
    lost = {name for name, record in records.items() if diverged(record)}
    parts = [name for name in records if _has_attention(name) and name not in lost]
    if wanted in lost or (lost and not parts):
        raise FoveateError(f"{run.path}: {divergence(records)}")
    if wanted is None:
        return sorted(parts, key=lambda name: name != main_paradigm(run))
    if wanted not in parts:
        raise FoveateError(f"{run.path} has no paradigm '{wanted}'; it has {', '.join(parts)}")
    return [wanted]


def main_paradigm(run: Run) -> str | None:
    """The paradigm that a fit chose; of a mixture, the one with the largest weight."""
    attention = run.manifest["config"].get("paradigms", ())
    weights = {k: w for k, w in run.manifest.get("weights", {}).items() if k in attention}
    chosen: str | None = run.manifest.get("chosen")
    return max(weights, key=lambda name: weights[name]) if weights else chosen


def _has_attention(name: str) -> bool:
    from foveate.attention.paradigms import PARADIGMS

    return not PARADIGMS.get(name)().whole_bag


def _audited(part: "TrainedPart") -> "Audit | None":
    """The audit of the bags, which serves for all paradigms; None for more bags than are held."""
    from foveate.trust.auditor import audit
    from foveate.trust.examine import CELLS

    sets = part.bags if isinstance(part.bags, list) else [part.bags]
    n, m = sets[0].shape
    if n * m * len(part.classes) > CELLS:
        return None
    return audit(sets, len(part.classes), more=part.more, labels=part.labels)


def _examined(part: "TrainedPart", flags: Declared, known: _Known) -> "Trust":
    from foveate.trust.examine import examine

    return examine(
        part.models,
        part.name,
        part.bags,
        part.classes,
        known=part.known,
        absent=flags.absent,
        relevant=flags.relevant,
        evidence=flags.evidence,
        more=part.more,
        labels=part.labels,
        audited=known.audit,
        tried=known.tried,
        overfitted=known.overfitted,
        ids=part.ids,
        name=part.name,
    )
