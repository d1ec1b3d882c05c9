"""Commands as a user types them, in this process: what they print, and how they must fail."""

import contextlib
import io

from foveate.cli import main

TINY = ["--seeds", "2", "--epochs", "2", "--n", "50", "--n-test", "40"]
SOFT = [*TINY, "--paradigms", "soft"]


def call(*arguments):
    """Exit code, output and error stream of a command."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(a) for a in arguments])
        except SystemExit as end:
            code = end.code or 0
    return code, out.getvalue(), err.getvalue()


def succeed(*arguments):
    code, out, err = call(*arguments)
    assert code == 0, err
    return out


def complain(*arguments):
    """The sentence of a command that must fail, and fail well."""
    code, out, err = call(*arguments)
    assert code == 2, (out, err)
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("foveate: ")
    assert "Traceback" not in err
    assert "pydantic" not in err
    return lines[0].removeprefix("foveate: ")


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
