"""Commands for a user's bags: fit, predict, explain, export."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from foveate.cli.app import start_options, this_command
from foveate.cli.column_flags import COLUMN_GROUP, ColumnFlags, column_values
from foveate.cli.column_listing import print_columns
from foveate.cli.fit_verdicts import add_verdict
from foveate.cli.flags import DEFAULTS, Device, ExecutionFlags, Overwrite
from foveate.cli.multi_label import (
    is_multi_label,
    write_labels_predictions,
    write_labels_segments,
)
from foveate.cli.outputs import check_outputs
from foveate.errors import FoveateError
from foveate.io.columns import Columns
from foveate.jobs.job import show_results
from foveate.report.progress import progress_of
from foveate.settings import use_device
from foveate.userdata.settings import FitSettings

if TYPE_CHECKING:
    from foveate.io.collection import Collection
    from foveate.userdata.fitted import FittedModel
    from foveate.userdata.gallery import GalleryBag

__all__ = ["explain_command", "export_command", "fit_command", "predict_command"]

Flags = Annotated[FitSettings | None, Parameter(name="*", group=Group("Training", sort_key=1))]
FinishedRun = Annotated[
    Path, Parameter(help="A finished fit: its directory, or its name under runs/.")
]
Explained = Annotated[
    Path,
    Parameter(
        help="A finished fit: its directory, or its name under runs/; or the folder of a text "
        "classifier of transformers."
    ),
]
NewBags = Annotated[Path, Parameter(help="Bags laid out like those it was fitted on.")]
NewColumns = Annotated[
    Columns | None,
    Parameter(
        name="*", group=COLUMN_GROUP, help="What the columns are, where they differ from the fit's."
    ),
]
ChosenParadigm = Annotated[
    str | None,
    Parameter(help="Which of the fit's paradigms; the chosen one unless given."),
]


def fit_command(
    data: Path,
    /,
    *,
    settings: Flags = None,
    columns: ColumnFlags = None,
    out: Path | None = None,
    verdict: bool = True,
    execution: ExecutionFlags = DEFAULTS,
) -> None:
    """Fit your own labelled bags in folds: scores, a verdict on the attention, a model card.

    Parameters
    ----------
    data
        A table (CSV, JSON lines, Parquet), NPZ, HDF5, a folder of bags, texts or images.
    settings
        How to fit, each a flag.
    columns
        What the columns are.
    out
        The run directory; a new one under runs/ unless given.
    verdict
        Whether the attention of the main paradigm is examined too, as by foveate trust.
    """
    from foveate.jobs.fit import FitJob
    from foveate.jobs.lifecycle import start_job
    from foveate.jobs.multi_label import MultiLabelJob
    from foveate.userdata.source import Origin

    origin = Origin(data, column_values(columns))
    with start_options(execution) as options:
        bags = origin.read(labelled=True, report=options["report"])
        if not execution.as_json:
            print_columns(bags.roles)
        job = MultiLabelJob if bags.multi_label else FitJob
        run = start_job(job(settings or FitSettings(), bags, origin), out=out, **options)
    if verdict:
        with use_device(execution.device):
            run = add_verdict(run)
    show_results(run, as_json=execution.as_json)


def predict_command(
    run: FinishedRun,
    data: NewBags,
    /,
    *,
    out: Path,
    overwrite: Overwrite = False,
    columns: NewColumns = None,
    paradigm: ChosenParadigm = None,
    device: Device = None,
) -> None:
    """Classify new bags, labelled or not, with calibrated probabilities of classes or labels.

    Parameters
    ----------
    out
        The table to write, .csv or .parquet: one row a bag.
    """
    from foveate.userdata.predict import (
        answer,
        bags_table,
        check_format,
        warn_of_shift,
        write_table,
    )

    check_format(out)
    check_outputs(out, inputs=(data,), overwrite=overwrite)
    if is_multi_label(run):
        _no_paradigm(paradigm)
        with use_device(device):
            return write_labels_predictions(run, data, out, column_values(columns))
    with use_device(device), progress_of(quiet=True) as report:
        fitted, collection = _loaded(run, data, columns, paradigm, report)
        unusual = warn_of_shift(fitted, collection)
        answers = answer(fitted, collection, report, with_evidence=False)
    table = bags_table(fitted, collection, answers, unusual)
    write_table(out, table)
    print(f"{len(collection)} bags, {fitted.name}: {out}")


def explain_command(
    run: Explained,
    data: NewBags,
    /,
    *,
    out: Path,
    page: Path | None = None,
    shown: int = 20,
    map: Literal["posterior", "evidence", "product", "attention"] | None = None,
    overwrite: Overwrite = False,
    columns: NewColumns = None,
    paradigm: ChosenParadigm = None,
    device: Device = None,
) -> None:
    """Write attention and signed evidence of every segment for every class.

    Parameters
    ----------
    out
        The table to write, .csv or .parquet: one row a segment.
    page
        A page to write as well, with the bags drawn.
    shown
        How many bags the page shows.
    map
        What ranks the segments: posterior (attention times the probability of the class for the
        segment alone), evidence (the logit of the segment alone), product (attention times
        evidence) or attention; by measurement on real bags unless given.
    """
    from foveate.cli.text_explanations import explain_texts
    from foveate.text.transformers.loading import is_transformer
    from foveate.trust.segment_maps import DEFAULT_MAP
    from foveate.userdata.gallery import gallery_bags
    from foveate.userdata.predict import (
        answer,
        check_format,
        segments_table,
        warn_of_shift,
        write_table,
    )

    check_format(out)
    check_outputs(out, page, inputs=(data,), overwrite=overwrite)
    if shown < 1:
        raise FoveateError(f"--shown must be at least 1, got {shown}")
    named = column_values(columns)
    if is_transformer(run):
        if paradigm is not None:
            raise FoveateError("--paradigm is for a fit; a text classifier has one model")
        return explain_texts(run, data, out, page, shown, map or DEFAULT_MAP, named)
    if is_multi_label(run):
        _no_paradigm(paradigm, page)
        with use_device(device):
            return write_labels_segments(run, data, out, named, map or DEFAULT_MAP)
    with use_device(device), progress_of(quiet=True) as report:
        fitted, collection = _loaded(run, data, columns, paradigm, report)
        unusual = warn_of_shift(fitted, collection)
        answers = answer(fitted, collection, report)
    kind = map or DEFAULT_MAP
    write_table(out, segments_table(fitted, collection, answers, unusual, kind))
    print(f"{len(collection)} bags, {fitted.name}, ranked by {kind}: {out}")
    if page is not None:
        rows = range(min(shown, len(collection)))
        bags = gallery_bags(fitted, collection, answers.bag, answers.explained, rows, kind)
        _write_explanations(page, bags, fitted, len(collection), data.name)


def _write_explanations(
    page: Path, bags: "Sequence[GalleryBag]", fitted: "FittedModel", total: int, source: str
) -> None:
    from foveate.report.pages.explain import write_explain_page

    write_explain_page(
        page,
        bags,
        fitted.classes,
        paradigm=fitted.name,
        total=total,
        source=source,
        columns=fitted.preparation.columns,
        command=this_command(),
        note=fitted.note,
    )
    print(f"page: {page}")


def _no_paradigm(paradigm: str | None, page: Path | None = None) -> None:
    """Raise for flags that apply to a single label."""
    if paradigm is not None or page is not None:
        flag = "--paradigm" if paradigm is not None else "--page"
        raise FoveateError(
            f"{flag} is for the fit of one label: name its directory, RUN/label1/fit"
        )


def export_command(
    run: FinishedRun,
    /,
    *,
    onnx: Path,
    overwrite: Overwrite = False,
    paradigm: ChosenParadigm = None,
) -> None:
    """Write a fitted model as ONNX: segments in, probabilities, attention and evidence out.

    Parameters
    ----------
    onnx
        The file to write.
    """
    from foveate.userdata.ensemble import load_fitted
    from foveate.userdata.export import export_onnx

    check_outputs(onnx, overwrite=overwrite)
    if is_multi_label(run):
        raise FoveateError("a label is exported at a time: name its directory, RUN/label1/fit")
    worst = export_onnx(load_fitted(run, paradigm), onnx)
    print(f"{onnx}: within {worst:.1e} of the library, in onnxruntime")


def _loaded(
    run: Path, data: Path, columns: Columns | None, paradigm: str | None, report: Any
) -> "tuple[FittedModel, Collection]":
    """The models, and new bags read as those of the fit were, but for flags that are given."""
    from foveate.userdata.ensemble import load_fitted
    from foveate.userdata.predict import read_new_bags

    fitted = load_fitted(run, paradigm)
    return fitted, read_new_bags(fitted, data, column_values(columns), report)
