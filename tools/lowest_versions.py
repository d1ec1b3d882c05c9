"""Constraints that pin every requirement of pyproject.toml to its lower bound.

Run: python tools/lowest_versions.py > lowest.txt
"""

import re
import sys
import tomllib
from pathlib import Path

__all__ = ["lowest_versions"]

BOUND = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?\s*>=\s*([0-9][0-9a-z.]*)")


def lowest_versions(project: dict[str, object]) -> list[str]:
    """Pins of all requirements with a lower bound, extras included.

    Example:
        >>> lowest_versions({"dependencies": ["numpy>=1.26", "rich"]})
        ['numpy==1.26']
    """
    listed = [*_strings(project.get("dependencies"))]
    extras = project.get("optional-dependencies")
    for extra in extras.values() if isinstance(extras, dict) else ():
        listed += _strings(extra)
    matches = (BOUND.match(requirement) for requirement in listed)
    return sorted({f"{match[1]}=={match[2]}" for match in matches if match})


def _strings(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []


if __name__ == "__main__":
    content = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    sys.stdout.write("\n".join(lowest_versions(content["project"])) + "\n")
