"""The page of a multi-label run: a row per label, with a link to the page of its own fit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foveate.records.record import write_atomically
from foveate.records.runs import Run
from foveate.report.outcomes import setup_tables
from foveate.report.pages.cross_fit import model_label
from foveate.report.pages.score_cells import score_cell
from foveate.report.rendering import render_page
from foveate.report.sentences import unfinished
from foveate.userdata.multi_label import FIT, label_folder

__all__ = ["OVERALL", "label_rows", "labels_lead", "write_labels_page"]

OVERALL = {
    "macro_auroc": "AUROC, mean over labels",
    "macro_f1": "F1, mean over labels",
    "micro_f1": "F1, all pairs of bag and label",
    "hamming_loss": "Wrong pairs of bag and label (Hamming loss)",
    "subset_accuracy": "Bags with all labels right",
}


def write_labels_page(run: Run, path: Path) -> Path:
    """Write the page of a multi-label run atomically."""
    write_atomically(path, _page(run).encode())
    return path


def labels_lead(manifest: Mapping[str, Any]) -> str:
    """For how many labels attention is not clearly better than a baseline, and the mixtures."""
    scores = manifest["scores"]
    level = [name for name, entry in scores.items() if entry["comparison"]["as_good"]]
    overall = manifest["overall"]
    first = f"For {len(level)} of {len(scores)} labels a baseline without attention is not clearly "
    return (
        f"{first}worse than the best attention model. The mixtures, which predict new bags, have a "
        f"mean AUROC of {overall['macro_auroc']:.3f} and a mean F1 of {overall['macro_f1']:.3f} "
        "out of fold."
    )


def label_rows(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row per label: counts, scores, the best baseline, the threshold and the verdict."""
    rows = []
    verdicts, counts = manifest.get("verdicts", {}), manifest["sizes"]["bags of label"]
    for k, (name, entry) in enumerate(manifest["scores"].items()):
        best = max(entry["baselines"], key=lambda n: entry["baselines"][n])
        threshold = entry["threshold"]
        rows.append(
            {
                "name": name,
                "page": f"{label_folder(k)}/{FIT}/report.html",
                "count": counts[name],
                "auroc": score_cell(entry["scores"]["auroc"], 1, 3),
                "baseline": f"{entry['baselines'][best]:.3f}",
                "baseline_name": model_label(best),
                "as_good": entry["comparison"]["as_good"],
                "f1": f"{entry['f1']:.3f}",
                "threshold": "–" if threshold is None else f"{threshold['value']:.3f}",
                "verdict": verdicts.get(name, "not examined"),
            }
        )
    return rows


def _page(run: Run) -> str:
    manifest, name = run.manifest, run.path.resolve().name
    done = "scores" in manifest
    return render_page(
        "multi_label.html",
        title=f"Fit of {manifest['label']}, {len(manifest['labels'])} labels",
        name=name,
        unfinished=unfinished(run, run.records()),
        lead=labels_lead(manifest) if done else "",
        rows=label_rows(manifest) if done else [],
        overall=[(words, f"{manifest['overall'][key]:.3f}") for key, words in OVERALL.items()]
        if done
        else [],
        split=manifest["sizes"]["split"],
        setup=setup_tables(run, name, {}),
        command=manifest.get("command") or "",
    )
