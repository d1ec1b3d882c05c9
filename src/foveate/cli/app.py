"""The command line: each command a few lines, its work in the library.

A command ``NAME`` is a function ``NAME_command`` in any file of ``commands/``; the first line of
its docstring is its help. The files are searched, not imported, until a command is called, so that
``foveate --help`` imports nothing heavy.
"""

import ast
import errno
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypedDict

from cyclopts import App, CycloptsError, Parameter

from foveate import __version__
from foveate.errors import DataWarning

if TYPE_CHECKING:
    from foveate.cli.flags import Execution
    from foveate.jobs.engine import Engine
    from foveate.types import PartProgress

__all__ = ["COMMANDS", "main", "repeating_command", "start_options", "this_command"]

SUFFIX = "_command"
COMMAND = re.compile(
    rf'^def (\w+){SUFFIX}\(.*?\)(?: -> \w+)?:\n(?: {{4}}r?"""([^\n]*?)(?:"""|\n))?', re.S | re.M
)
"""A command: its name, and the first line of its docstring."""
PLUGINS = "foveate.commands"
"""The group of entry points of commands of other packages."""
FILE_ERRORS = (errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC)
"""Errors of a path or a disk that the user can correct."""


def find_commands(folder: Path) -> dict[str, tuple[str, str]]:
    """For every command in the files of a folder, its module and its one line of help.

    Args:
        folder: A package of command files.
    """
    commands = {}
    for path in sorted(folder.glob("*.py")):
        for name, about in COMMAND.findall(path.read_text("utf-8")):
            commands[name.replace("_", "-")] = (path.stem, about)
    return commands


def plugin_commands() -> dict[str, tuple[str, str]]:
    """For every command of another package, its function as "module:name" and its line of help.

    A package declares them in the group of entry points ``foveate.commands``. Their files are
    parsed, not imported; one that cannot be found is reported when it is called.
    """
    if not _declares_commands():
        return {}
    from importlib.metadata import entry_points

    commands = {}
    for plugin in entry_points(group=PLUGINS):
        try:
            spec = find_spec(plugin.module)
            source = Path(str(spec and spec.origin)).read_text("utf-8")
            functions = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
            lines = [ast.get_docstring(n) or "" for n in functions if n.name == plugin.attr]
        except (ImportError, OSError, SyntaxError, ValueError):
            lines = []
        commands[plugin.name] = (plugin.value, lines[0].partition("\n")[0] if lines else "")
    return commands


def _declares_commands() -> bool:
    """Whether any installed package may declare commands.

    Reading the files takes 1 ms; importing ``importlib.metadata`` takes a sixth of ``--help``.
    """
    files = [path for folder in sys.path for path in Path(folder).glob("*-info/entry_points.txt")]
    for path in files:
        with suppress(OSError):
            if PLUGINS.encode() in path.read_bytes():
                return True
    return False


COMMANDS = find_commands(Path(__file__).parent / "commands")

app = App(
    name="foveate",
    help="Train attention models of bags, measure where they look, and grade their attention.",
    help_format="plaintext",
    default_parameter=Parameter(negative_iterable=()),  # no --empty-NAME beside every list
    version=f"foveate {__version__}",
    suppress_keyboard_interrupt=False,
)
app.command(
    "foveate.cli.completion:install_completion",
    name="--install-completion",
    help="Install shell completion of this command.",
)
for _name, (_module, _about) in COMMANDS.items():
    _function = f"{_name.replace('-', '_')}{SUFFIX}"
    app.command(f"foveate.cli.commands.{_module}:{_function}", name=_name, help=_about)
for _name, (_target, _about) in plugin_commands().items():
    if _name not in COMMANDS:
        app.command(_target, name=_name, help=_about)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a user's mistake is one sentence and exit code 2."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            warnings.filterwarnings("always", "", category=DataWarning)
            _check_numbers(tokens)
            app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()  # a closed pipe shows here, not when the interpreter ends
    except CycloptsError as error:
        _print_error(_sentence(error))
    except ValueError as error:
        from foveate.errors import FoveateError

        if not isinstance(error, FoveateError):
            raise
        _print_error(str(error))
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "can't allocate memory" not in str(error):
            raise
        _print_error("there is not enough memory: fewer or shorter bags need less")
    except BrokenPipeError:
        _close_pipe()
    except OSError as error:
        if error.errno not in FILE_ERRORS:
            raise
        name = f"{str(error.filename)[:80]}: " if error.filename else ""
        _print_error(f"{name}{error.strerror}")
    except KeyboardInterrupt as interrupt:
        run = getattr(interrupt, "run", None)
        advice = f"; 'foveate resume {run}' continues from the last checkpoint" if run else ""
        print(f"foveate: stopped{advice}", file=sys.stderr)
        raise SystemExit(130) from None


def this_command() -> str:
    """The command line of this process."""
    return shlex.join(["foveate", *sys.argv[1:]])


def repeating_command() -> str:
    """The command line without ``--out``: a run directory is used once."""
    arguments = iter(sys.argv[1:])
    words = []
    for word in arguments:
        if word == "--out":
            next(arguments, None)
        elif not word.startswith("--out="):
            words.append(word)
    return shlex.join(["foveate", *words])


class StartOptions(TypedDict):
    """The arguments that every function has which starts a job."""

    report: "PartProgress"
    command: str
    engine: "Engine"


@contextmanager
def start_options(execution: "Execution") -> Iterator[StartOptions]:
    """Arguments for starting a job, on the chosen device and with progress on the terminal."""
    from foveate.jobs.engine import Engine
    from foveate.report.progress import progress_of
    from foveate.settings import use_device

    engine = Engine(execution.workers, execution.cluster)
    with use_device(execution.device), progress_of(quiet=execution.as_json) as report:
        yield {"report": report, "command": repeating_command(), "engine": engine}


def _check_numbers(tokens: Sequence[str]) -> None:
    """Refuse fractions for flags that take integers; only the called command is imported."""
    if not tokens or tokens[0] not in COMMANDS or not any("." in token for token in tokens):
        return
    from foveate.cli.whole_numbers import check_whole_numbers

    module = import_module(f"foveate.cli.commands.{COMMANDS[tokens[0]][0]}")
    check_whole_numbers(getattr(module, f"{tokens[0].replace('-', '_')}{SUFFIX}"), tokens[1:])


def _close_pipe() -> None:
    """Exit silently when the reader of the output has closed it, as ``head`` does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(128 + 13)


def _sentence(error: CycloptsError) -> str:
    """The error in one line; the original sentence where pydantic has wrapped it."""
    for problem in getattr(error.__cause__, "errors", list)():
        if "error" in problem.get("ctx", {}):
            return str(problem["ctx"]["error"])
    return " ".join(str(error).split())


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A plug-in that cannot be loaded is one sentence; other warnings keep their usual form."""
    from foveate.registry import PluginWarning

    if issubclass(category, PluginWarning):
        text = f"foveate: {message}\n"
    elif issubclass(category, DataWarning):
        text = f"warning: {message}\n"
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    (file or sys.stderr).write(text)


def _print_error(sentence: str) -> None:
    print(f"foveate: {sentence}", file=sys.stderr)
    raise SystemExit(2)
