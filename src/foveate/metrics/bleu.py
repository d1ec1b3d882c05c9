"""BLEU: how many words and phrases of translations are also in the reference, by sacrebleu."""

from collections.abc import Sequence

from foveate.errors import FoveateError

__all__ = ["bleu", "bleu_of_captions"]


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


def bleu_of_captions(said: Sequence[str], wanted: Sequence[Sequence[str]]) -> float:
    """BLEU-4 of captions that have several references each, from 0 to 100, words split at spaces.

    Args:
        said: Captions, as words with spaces between.
        wanted: The references of each, at least one; their number may differ.

    Example:
        >>> round(bleu_of_captions(["a dog on the grass"], [["a dog", "a dog on the grass"]]), 6)
        100.0
    """
    if len(said) != len(wanted) or not said or not all(wanted):
        raise FoveateError(f"every caption needs a reference: got {len(said)} and {len(wanted)}")
    try:
        from sacrebleu import corpus_bleu
    except ImportError:
        raise FoveateError("BLEU needs the package sacrebleu: install foveate[text]") from None
    streams = [
        [own[k] if k < len(own) else None for own in wanted] for k in range(max(map(len, wanted)))
    ]
    return float(corpus_bleu(list(said), streams, tokenize="none").score)  # type: ignore[arg-type]
