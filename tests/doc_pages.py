"""The pages of the documentation and their code blocks."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    path.relative_to(DOCS).with_suffix("").as_posix()
    for path in sorted(DOCS.rglob("*.md"))
    if not {"_build", "_vendor"} & set(path.parts)
]
FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"^(?P<fence>`{3,})(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=fence)[ ]*$",
    re.S | re.M,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Args:
        page: The page.
        line: Its line there.
        language: The first word after the fence.
        file: The name of the file that holds the block, the second word; empty without one.
        text: What is in the block, without options of a code cell.
        reason: Why the tests do not run it, from the comment ``<!-- not run: … -->`` above it.
    """

    page: str
    line: int
    language: str
    file: str
    text: str
    reason: str | None

    @property
    def is_python(self) -> bool:
        return self.language in ("python", "{code-cell}") and not self.is_shell_cell

    @property
    def is_shell_cell(self) -> bool:
        return self.language == "{code-cell}" and self.text.startswith("%%bash\n")

    @property
    def commands(self) -> list[list[str]]:
        """The words of each ``foveate`` command of a shell block, without the program."""
        if not (self.language in ("", "sh", "console") or self.is_shell_cell):
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        words = []
        for k, line in enumerate(lines):
            if re.match(r"(\$ )?foveate( |$)", line):
                words.append(_split("\n".join(lines[k:]).removeprefix("$ ")))
        return [line[1:] for line in words]


def _split(text: str) -> list[str]:
    """The words of the command at the start of a text; a quoted word may span lines."""
    lines = text.split("\n")
    for k in range(1, len(lines) + 1):
        try:
            return shlex.split("\n".join(lines[:k]), comments=True)
        except ValueError:  # no closing quotation yet
            continue
    raise ValueError(f"no closing quotation: {text}")


def text_of(page: str) -> str:
    return (ROOT / "README.md" if page == "README" else DOCS / f"{page}.md").read_text("utf-8")


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, tables of contents and API directives left out."""
    text = text_of(page)
    result = []
    for match in FENCE.finditer(text):
        language, _, file = match["language"].strip().partition(" ")
        if language.startswith("{") and language != "{code-cell}":
            continue
        body = match["text"]
        if language == "{code-cell}":
            body = re.sub(r"\A(?:[ ]*:[^\n]*\n)+\n?", "", body)
            file = ""  # the name of a kernel, if anything
        line = text.count("\n", 0, match.start("fence")) + 1
        result.append(Block(page, line, language, file, body, match["reason"]))
    return result
