"""Symmetrisation of alignments in both directions: intersection, and grow-diag-final-and."""

from collections.abc import Sequence

from foveate.metrics.alignment import Links

__all__ = ["flipped", "grow_diag_final_and", "intersection"]

NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def flipped(corpus: Sequence[Links]) -> list[set[tuple[int, int]]]:
    """Links (j, i) for links (i, j)."""
    return [{(j, i) for i, j in links} for links in corpus]


def intersection(forward: Sequence[Links], backward: Sequence[Links]) -> list[set[tuple[int, int]]]:
    """The links that both directions have."""
    return [set(one & other) for one, other in zip(forward, backward, strict=True)]


def grow_diag_final_and(
    forward: Sequence[Links], backward: Sequence[Links]
) -> list[set[tuple[int, int]]]:
    """The intersection, grown within the union. Koehn, Och & Marcu (2003)

    *Grow-diag*: a link of the union that touches an accepted one, also at a corner, is accepted if
    one of its words has no link yet; links are gone through in order until none is added.
    *Final-and*: then links of the forward, and of the backward direction, are accepted if both
    their words have none.

    Args:
        forward: Links (i, j) of each sentence pair.
        backward: Links (i, j) of the other direction, source first as well.

    Example:
        >>> (grown,) = grow_diag_final_and([{(0, 0), (4, 4), (5, 0)}], [{(0, 0), (1, 1), (4, 0)}])
        >>> sorted(grown)
        [(0, 0), (1, 1), (4, 4)]
    """
    return [
        _grow_diagonal(set(one), set(other)) for one, other in zip(forward, backward, strict=True)
    ]


def _grow_diagonal(
    forward: set[tuple[int, int]], backward: set[tuple[int, int]]
) -> set[tuple[int, int]]:
    if forward == backward:
        return forward
    links = forward & backward
    rows, columns = {i for i, _ in links}, {j for _, j in links}
    union = forward | backward
    # Words never lose their links, so that a link between two linked words is never accepted.
    open_links = [(i, j) for i, j in union - links if i not in rows or j not in columns]
    candidates = _candidates(open_links, union)

    def accept(link: tuple[int, int]) -> None:
        links.add(link)
        rows.add(link[0])
        columns.add(link[1])

    before = -1
    while before < len(links):
        before = len(links)
        for link, near in candidates:
            if link not in links:
                continue
            for i, j in near:
                if i not in rows or j not in columns:
                    accept((i, j))
    for direction in (forward, backward):
        for link in sorted(link for link in open_links if link in direction):
            if link[0] not in rows and link[1] not in columns:
                accept(link)
    return links


def _candidates(
    open_links: list[tuple[int, int]], union: set[tuple[int, int]]
) -> list[tuple[tuple[int, int], list[tuple[int, int]]]]:
    """The links of the union that touch an open link, in order, each with those it touches.

    Few links are open at the beginning, so these are looked up from their neighbours' side.
    """
    touched: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for di, dj in NEIGHBOURS:
        for i, j in open_links:
            if (link := (i - di, j - dj)) in union:
                touched.setdefault(link, []).append((i, j))
    return sorted(touched.items())
