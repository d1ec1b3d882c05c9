"""The results of a fit as a table for the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foveate.metrics.faults import dead_focus_warning, divergence
from foveate.records.runs import Run
from foveate.report.pages.cross_fit import cross_fit_lead, one_sided_note
from foveate.report.pages.score_cells import score_cell
from foveate.userdata.mixture import unmapped_note
from foveate.userdata.model_card import CARD_MARKDOWN, model_card

__all__ = ["print_fit"]


HEADINGS = {
    "balanced_accuracy": "balanced accuracy, %",
    "auroc": "AUROC",
    "log_loss": "log loss",
}


def print_fit(run: Run) -> None:
    """Print the scores of all paradigms, the choice, and where the page is."""
    if run.manifest["config"].get("folds", 1) > 1:
        _print_cross_fit(run)
    else:
        _print_split(run)
    for text in run.manifest.get("warnings", ()):
        print(f"warning: {text}")
    for text in run.manifest.get("forced", ()):
        print(f"accepted by --force: {text}")
    print(f"report: {run.path / 'report.html'}")
    _print_verdict(run)
    print(f"model card: {run.path / CARD_MARKDOWN}")


def _print_verdict(run: Run) -> None:
    attention = model_card(run)["attention"]
    if attention["verdict"] is None:
        print(f"next: 'foveate trust {run.path}' says whether its attention can be trusted")
        return
    print(f"attention ({attention['paradigm']}): {attention['verdict']}. {attention['summary']}")
    print(f"verdict: {run.path / 'trust.html'}")


def _print_cross_fit(run: Run) -> None:
    manifest = run.manifest
    parts = {"out_of_fold": "out of fold", "test": "test"}
    scores = manifest["scores"]
    available = [part for part in parts if part in next(iter(scores.values()))]
    table = Table(title=f"{escape(manifest['label'])}: {manifest['sizes']['bags']} bags")
    table.add_column("model")
    table.add_column("weight", justify="right")
    for heading in HEADINGS.values():
        for part in available:
            table.add_column(f"{heading}\n{parts[part]} [95 %]", justify="right")
    for name, entry in scores.items():
        weight = manifest["weights"].get(name)
        cells = ["" if weight is None else f"{weight:.2f}"]
        for key in HEADINGS:
            factor, places = (100, 1) if key == "balanced_accuracy" else (1, 3)
            cells += [score_cell(entry[part][key], factor, places) for part in available]
        table.add_row(f"{name} *" if name == manifest["chosen"] else name, *cells)
    Console(width=None if Console().is_terminal else 160).print(table)
    records = {name: r for name, r in run.records().items() if "s" in r.final}
    if lost := divergence(records):
        print(f"warning: not compared, for {lost}")
    print(cross_fit_lead(manifest))
    if note := unmapped_note(manifest.get("weights", {})):
        print(note)
    if chosen := manifest.get("threshold"):
        print(
            f"threshold ({chosen['rule']}): class '{manifest['classes'][1]}' is predicted from "
            f"probability {chosen['value']:.3f} on; out of fold, sensitivity "
            f"{chosen['sensitivity']:.3f} and specificity {chosen['specificity']:.3f}"
        )
    _print_abstention(manifest)
    if note := one_sided_note(run):
        print(note)
    print(f"* new bags are predicted by {manifest['rule']}")


def _print_abstention(manifest: Mapping[str, Any]) -> None:
    entry = manifest.get("abstention")
    if entry is None:
        return
    shares = zip(manifest["classes"], entry["coverage"], strict=True)
    covered = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares)
    print(
        f"abstention: at most {100 * entry['error']:g} % of the bags of a class lose it; out of "
        f"fold the class is kept for {covered}; {100 * entry['answered']:.1f} % of the bags are "
        f"answered, {100 * entry['wrong_answer']:.1f} % wrongly"
    )


def _print_split(run: Run) -> None:
    manifest = run.manifest
    table = Table(title=f"{escape(manifest['label'])}: {manifest['sizes']['bags']} bags")
    table.add_column("paradigm")
    for heading in HEADINGS.values():
        table.add_column(f"{heading}\nvalidation", justify="right")
        table.add_column(f"{heading}\ntest [95 %]", justify="right")
    by_attention = manifest["config"].get("choose") == "attention"
    if by_attention:
        table.add_column("attention\nvalidation", justify="right")
    for name, scores in manifest["scores"].items():
        cells = []
        for key in HEADINGS:
            factor, places = (100, 1) if key == "balanced_accuracy" else (1, 3)
            cells.append(f"{factor * scores['validation'][key][0]:.{places}f}")
            cells.append(score_cell(scores["test"][key], factor, places))
        if by_attention:
            cells.append(f"{scores['attention_score']:.2f}")
        table.add_row(f"{name} *" if name == manifest["chosen"] else name, *cells)
    Console(width=None if Console().is_terminal else 160).print(table)
    records = run.records()
    if lost := divergence(records):
        print(f"warning: not compared, for {lost}")
    if lost := dead_focus_warning(records):
        print(f"warning: {lost}")
    print(f"* {manifest['chosen']} is chosen: {manifest['rule']}")
