"""Papers and the claims they make, registered by the studies that check them."""

from collections.abc import Mapping
from typing import NamedTuple

from foveate.errors import FoveateError
from foveate.registry import Registry

__all__ = ["PAPERS", "Paper", "all_claims", "statement_of"]


class Paper(NamedTuple):
    """A source of claims: a paper, or a study's own list.

    Args:
        title: Its title.
        authors: Its authors.
        where: Where it appeared.
        claims: What it claims, by number ("C1"). A claim's key is "PAPER:NUMBER".
    """

    title: str
    authors: str
    where: str
    claims: Mapping[str, str] = {}


PAPERS: Registry[Paper] = Registry("paper", package="foveate.studies", nested=True)


def all_claims() -> dict[str, str]:
    """What every registered paper claims, by key ("vr23:C5")."""
    return {
        f"{key}:{number}": statement
        for key, paper in PAPERS.items()
        for number, statement in paper.claims.items()
    }


def statement_of(claim: str) -> str:
    """What a claim states.

    Args:
        claim: Its key, "vr23:C5".

    Example:
        >>> statement_of("vr23:C17")
        'One-hot attention makes the three losses equal.'
        >>> statement_of("mine:C1")
        Traceback (most recent call last):
        foveate.errors.FoveateError: no registered paper has the claim 'mine:C1': register its \
paper with PAPERS.register("mine")(Paper(…, claims={"C1": "what is claimed"}))
    """
    key, _, number = claim.partition(":")
    if key in PAPERS and number in PAPERS.get(key).claims:
        return PAPERS.get(key).claims[number]
    raise FoveateError(
        f"no registered paper has the claim '{claim}': register its paper with "
        f'PAPERS.register("{key}")(Paper(…, claims={{"{number}": "what is claimed"}}))'
    )
