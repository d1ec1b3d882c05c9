"""Parse an HTML page into a tree of elements."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "input", "hr"}


@dataclass
class Node:
    tag: str
    attrs: dict[str, str]
    children: list["Node"] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())

    def all(self, tag: str) -> list["Node"]:
        nodes = [self] if self.tag == tag else []
        return nodes + [node for child in self.children for node in child.all(tag)]

    def walk(self) -> list["Node"]:
        return [self, *(node for child in self.children for node in child.walk())]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Node("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {k: v or "" for k, v in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Node(tag, {k: v or "" for k, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for node in self.open:
            node.texts.append(data)


def read_html(text: str) -> Node:
    """Parse a page; fails if elements are not closed in order."""
    reader = _Reader()
    reader.feed(text)
    assert [node.tag for node in reader.open] == ["root"]
    return reader.root
