"""The command that races paradigms."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from foveate.cli.app import start_options
from foveate.cli.flags import DEFAULTS, ExecutionFlags
from foveate.errors import FoveateError
from foveate.jobs.job import show_results
from foveate.training.plan import Race

__all__ = ["race_command"]

Flags = Annotated[Race | None, Parameter(name="*")]


def race_command(
    data: str | None = None,
    /,
    *,
    race: Flags = None,
    config: Path | None = None,
    out: Path | None = None,
    execution: ExecutionFlags = DEFAULTS,
) -> None:
    """Train several paradigms on the same bags and compare where they look.

    Parameters
    ----------
    data
        A data set by name (foveate list datasets), a Parquet folder or an NPZ file; else digits.
    race
        Settings of the race, each a flag.
    config
        A TOML file with the same settings; flags override it.
    out
        The run directory; a new one under runs/ unless given.
    """
    from foveate.jobs.race import start_race

    flags = {name: getattr(race, name) for name in race.model_fields_set} if race else {}
    from_file = _read_toml(config) if config else {}
    named = {"data": data} if data else {}
    settings = Race(**{**from_file, **flags, **named})
    with start_options(execution) as options:
        run = start_race(settings, out=out, **options)
    show_results(run, as_json=execution.as_json)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return {k.replace("-", "_"): v for k, v in tomllib.loads(path.read_text()).items()}
    except FileNotFoundError:
        raise FoveateError(f"there is no file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise FoveateError(f"{path} is not TOML: {error}") from None
