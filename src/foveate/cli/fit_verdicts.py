"""The verdict on the attention that ends a fit, in one go or after a resumed run."""

import warnings

from foveate.errors import DataWarning, FoveateError
from foveate.records.runs import Run

__all__ = ["add_verdict", "lacks_verdict"]

NO_VERDICT = "--no-verdict"


def add_verdict(run: Run) -> Run:
    """Examine the attention of a finished fit; the fit stays finished if there is no verdict.

    Args:
        run: A fit, of one label or several.

    Returns:
        The run, with the verdicts of labels where there are several.
    """
    from foveate.cli.app import this_command
    from foveate.jobs.job import open_job
    from foveate.report.progress import progress_of
    from foveate.report.trust_files import DeclaredEvidence

    command = run.manifest.get("command") or this_command()
    try:
        with progress_of(quiet=True) as report:
            return open_job(run).add_verdict(run, DeclaredEvidence(), command, report)
    except FoveateError as error:
        warnings.warn(f"no verdict on the attention: {error}", DataWarning, stacklevel=2)
    return run


def lacks_verdict(run: Run) -> bool:
    """Whether ``foveate fit`` was stopped before the verdict that it ends with.

    Args:
        run: A finished run of any kind.
    """
    from foveate.jobs.job import open_job

    command = str(run.manifest.get("command") or "")
    is_fit = command.startswith("foveate fit ") and NO_VERDICT not in command
    return is_fit and open_job(run).lacks_verdict(run)
