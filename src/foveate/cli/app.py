"""The command line: each command a few lines, its work in the library.

Commands are named by import path, so that ``foveate --help`` imports nothing heavy.
"""

import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from cyclopts import App, CycloptsError

__all__ = ["main"]

COMMANDS = {
    "race": ("races", "Train several paradigms on the same bags and compare where they look."),
    "check": ("check", "Describe your own bags and say what is wrong with them."),
    "fit": ("own", "Fit your own labelled bags and choose how."),
    "predict": ("own", "Classify new bags with a fitted model."),
    "explain": ("own", "Show what a fitted model looks at in new bags, and what it reads there."),
    "export": ("own", "Write a fitted model as ONNX."),
    "trust": ("trust", "Say whether the attention of a run can be trusted, and for which classes."),
    "flow": ("experiments", "Exact learning dynamics: gradient flows in closed form."),
    "encode": ("encode", "Run a frozen encoder over images and keep their features."),
    "run": ("experiments", "Run an experiment at a scale."),
    "reproduce": ("reproduce", "Run published tables again, measured beside published."),
    "claims": ("experiments", "The ledger: every claim of the papers, checked."),
    "diagnose": ("words", "Say before any training whether attention is likely to be learnt."),
    "align": ("align", "Align the words of sentence pairs, by IBM Model 1 or by attention."),
    "read": ("words", "Train a reader on labelled texts and show what it looks at."),
    "resume": ("races", "Go on with a run that was stopped; it ends as if it never had been."),
    "runs": ("races", "List runs."),
    "report": ("races", "Rebuild the report of a run, or compare several."),
    "lab": ("lab", "See attention learn, in the browser."),
    "list": ("races", "List data sets, paradigms, maps or experiments."),
}

RESUMABLE = {"race", "run", "resume", "fit"}

app = App(
    name="foveate",
    help="Attention that looks at the right thing: train it, measure it, understand it.",
    help_format="plaintext",
    version="foveate 0.1.0",
    suppress_keyboard_interrupt=False,
)
for _name, (_module, _about) in COMMANDS.items():
    app.command(f"foveate.cli.commands.{_module}:{_name}_command", name=_name, help=_about)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a user's mistake is one sentence and exit code 2."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        _complain(_sentence(error))
    except ValueError as error:
        from foveate.errors import FoveateError

        if not isinstance(error, FoveateError):
            raise
        _complain(str(error))
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "can't allocate memory" not in str(error):
            raise
        _complain("there is not enough memory: fewer or shorter bags need less")
    except KeyboardInterrupt:
        resumable = tokens and tokens[0] in RESUMABLE
        advice = "; 'foveate resume' goes on from the last checkpoint" if resumable else ""
        print(f"foveate: stopped{advice}", file=sys.stderr)
        raise SystemExit(130) from None


def _sentence(error: CycloptsError) -> str:
    """What went wrong, in one line; our own sentence where pydantic has wrapped it."""
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
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    (file or sys.stderr).write(text)


def _complain(sentence: str) -> None:
    print(f"foveate: {sentence}", file=sys.stderr)
    raise SystemExit(2)
