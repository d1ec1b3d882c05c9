"""The interactive explanation as static pages that need no Python and no server of ours."""

import gzip
import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError
from foveate.lab.bundled import BUNDLED
from foveate.lab.server.app import PAGES
from foveate.lab.server.flow import annotated_flow
from foveate.lab.server.theme import chart_theme, palette_css
from foveate.lab.server.vega import vega_script
from foveate.records.json_values import to_json

__all__ = ["SIZES", "export_pages"]

# The settings of the flow that are stored; the page offers exactly these.
SIZES = {"m": (5, 20, 100), "classes": (2, 5, 20, 100), "until": (300, 3000, 30000)}
POINTS = 160


def export_pages(folder: Path) -> int:
    """Write the pages into a folder that does not exist or is empty.

    Args:
        folder: Where; any web server can serve it under any address.

    Returns:
        Bytes written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FoveateError(f"{folder} is not empty: name a new folder")
    shutil.copytree(PAGES, folder / "pages", dirs_exist_ok=True)
    (folder / "pages" / "index.html").unlink()
    (folder / "index.html").write_text(_index(), "utf-8")
    (folder / "palette.css").write_text(palette_css(), "utf-8")
    (folder / "vega.js").write_bytes(vega_script())
    _write(folder, "theme", chart_theme())
    packed = (BUNDLED / "explorable.json.gz").read_bytes()
    (folder / "data" / "explorable.json").write_bytes(gzip.decompress(packed))
    for m, classes, until in product(*SIZES.values()):
        name = f"flow_m-{m}_classes-{classes}_until-{until}"
        _write(folder, name, annotated_flow(m, classes, float(until), None, None, POINTS))
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _index() -> str:
    """The shell with relative addresses, marked as exported."""
    page = (PAGES / "index.html").read_text("utf-8")
    page = page.replace('<html lang="en">', '<html lang="en" data-exported>')
    page = page.replace('content="VEGA"', 'content="vega.js"')
    for path in ("/pages/", "/palette.css"):
        page = page.replace(f'"{path}', f'".{path}')
    return page.replace('class="home" href="/"', 'class="home" href="."')


def _write(folder: Path, name: str, content: Any) -> None:
    path = folder / "data" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(to_json(content, named=False), separators=(",", ":")), "utf-8")
