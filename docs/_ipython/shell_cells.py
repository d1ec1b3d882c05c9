"""The cell magic ``%%bash`` of the pages: one output per cell, without colours or progress.

The site's kernels run this file when they start. IPython's own magic passes output on in pieces
of 100 bytes, which breaks tables and characters.
"""

import os
import subprocess

from IPython.core.magic import register_cell_magic


@register_cell_magic
def bash(line: str, cell: str) -> None:
    """Run a cell in bash and print what it writes; an exit code above 0 stops the build."""
    environment = {key: value for key, value in os.environ.items() if key != "FORCE_COLOR"}
    environment |= {"NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        ["bash", "-e", "-c", cell], capture_output=True, text=True, env=environment, check=False
    )
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(done.stderr)
