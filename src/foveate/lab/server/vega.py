"""Vega out of the wheel: one script, made once and kept in the cache folder."""

from importlib import metadata
from pathlib import Path
from threading import Lock

from foveate.errors import FoveateError
from foveate.records.record import write_atomically
from foveate.records.runs import cache_directory

__all__ = ["vega_script", "vega_version"]

_one_at_a_time = Lock()


def vega_version() -> str:
    """What decides the script: the version of the wheel it comes from."""
    return metadata.version("vl-convert-python")


def vega_script() -> bytes:
    """Vega, Vega-Lite and Vega-Embed as one classic script; no network is needed."""
    with _one_at_a_time:
        path = _script_path()
        if path is not None and path.exists():
            return path.read_bytes()
        import vl_convert

        script: bytes = vl_convert.javascript_bundle().encode()  # type: ignore[call-arg]
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, lambda file: file.write(script))
        except (OSError, FoveateError):
            pass  # a folder that cannot be written is done without
        return script


def _script_path() -> Path | None:
    try:
        return cache_directory() / "lab" / f"vega-{vega_version()}.js"
    except RuntimeError:  # no home directory
        return None
