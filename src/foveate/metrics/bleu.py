"""BLEU: how many words and phrases of translations are also in the reference, by sacrebleu."""

from collections.abc import Sequence

from foveate.errors import FoveateError

__all__ = ["bleu"]


def bleu(said: Sequence[str], wanted: Sequence[str]) -> float:
    """BLEU of a corpus, from 0 to 100, with sacrebleu's usual settings (13a, case counts).

    Args:
        said: Translations, as plain text.
        wanted: One reference for each.

    Example:
        >>> round(bleu(["a dog runs on the grass"], ["a dog runs on the grass"]), 6)
        100.0
    """
    if len(said) != len(wanted) or not said:
        raise FoveateError(
            f"every translation needs a reference: got {len(said)} and {len(wanted)}"
        )
    try:
        from sacrebleu import corpus_bleu
    except ImportError:
        raise FoveateError("BLEU needs the package sacrebleu: install foveate[text]") from None
    return float(corpus_bleu(list(said), [list(wanted)]).score)
