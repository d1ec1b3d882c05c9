"""The command that checks a run, or this machine."""

from pathlib import Path
from typing import TYPE_CHECKING

from foveate.cli.commands.installation import print_installation
from foveate.cli.flags import Flag, Json

if TYPE_CHECKING:
    from foveate.records.diagnosis import Symptom

__all__ = ["doctor_command"]


def doctor_command(
    run: Path | None = None, /, *, clean: Flag = False, repair: Flag = False, as_json: Json = False
) -> None:
    """Check a run (checksums, versions, split, leftovers of kills), or this machine.

    Parameters
    ----------
    run
        The run directory, or its name under runs/; this machine is checked unless given.
    clean
        Remove temporary files that killed processes left in the run.
    repair
        Delete damaged files that 'foveate resume' can compute again.
    as_json
        Print what is wrong with the run as JSON.
    """
    if run is None:
        print_installation()
        return
    from foveate.records.diagnosis import examine_run, remove_damaged
    from foveate.records.locking import lock_run, remove_leftovers
    from foveate.records.runs import open_run

    opened = open_run(run)
    if clean or repair:
        with lock_run(opened.path):
            removed = remove_leftovers(opened.path)
            removed += remove_damaged(opened) if repair else []
        for path in removed:
            print(f"removed {path}")
    symptoms = examine_run(opened)
    _print_run(opened.path, symptoms, as_json=as_json)
    if any(symptom.severity == "damage" for symptom in symptoms):
        raise SystemExit(2)


def _print_run(path: Path, symptoms: "list[Symptom]", *, as_json: bool) -> None:
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps({"run": str(path), "symptoms": [asdict(s) for s in symptoms]}))
        return
    for symptom in symptoms:
        text = symptom.what if symptom.what.startswith(symptom.where) else ""
        print(f"{symptom.severity}: {text or f'{symptom.where}: {symptom.what}'}")
    if not any(symptom.severity == "damage" for symptom in symptoms):
        print(f"{path}: no damage found")
