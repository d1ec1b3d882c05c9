"""The verdict on the attention that ends a fit, in one go or after a resumed run."""

import warnings

from foveate.errors import DataWarning, FoveateError
from foveate.records.checksums import read_json
from foveate.records.runs import Run

__all__ = ["add_verdict", "lacks_verdict"]

NO_VERDICT = "--no-verdict"


def add_verdict(run: Run) -> Run:
    """Examine the main paradigm of a finished fit; the fit stays finished if there is no verdict.

    Args:
        run: A fit, of one label or several.

    Returns:
        The run, with the verdicts of labels where there are several.
    """
    from foveate.cli.app import this_command
    from foveate.cli.multi_label import examine_labels
    from foveate.jobs.run_verdicts import examine_run, main_paradigm
    from foveate.report.progress import progress_of
    from foveate.report.trust_files import DeclaredEvidence

    command = run.manifest.get("command") or this_command()
    try:
        if "labels" in run.manifest:
            return examine_labels(run, command)
        with progress_of(quiet=True) as report:
            examine_run(run, DeclaredEvidence(), command, report, paradigm=main_paradigm(run))
    except FoveateError as error:
        warnings.warn(f"no verdict on the attention: {error}", DataWarning, stacklevel=2)
    return run


def lacks_verdict(run: Run) -> bool:
    """Whether ``foveate fit`` was stopped before the verdict that it ends with.

    Args:
        run: A finished run of any kind.
    """
    from foveate.userdata.model_card import CARD_JSON

    command = str(run.manifest.get("command") or "")
    if not command.startswith("foveate fit ") or NO_VERDICT in command:
        return False
    if "labels" in run.manifest:
        return "verdicts" not in run.manifest
    card = run.path / CARD_JSON  # runs of version 0.1 have none
    if not card.exists():
        return False
    verdict = read_json(card)["attention"]["verdict"]
    return verdict is None or not (run.path / "trust.json").exists()
