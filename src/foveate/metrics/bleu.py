"""BLEU of translations and captions, computed by sacrebleu."""

from collections.abc import Sequence

from foveate.errors import FoveateError

__all__ = ["bleu", "bleu_of_captions"]


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """BLEU of a corpus, from 0 to 100, with sacrebleu's usual settings (13a, case counts).

    Args:
        hypotheses: Translations, as plain text.
        references: One reference for each.

    Example:
        >>> round(bleu(["a dog runs on the grass"], ["a dog runs on the grass"]), 6)
        100.0
    """
    if len(hypotheses) != len(references) or not hypotheses:
        raise FoveateError(
            f"every translation needs a reference: got {len(hypotheses)} and {len(references)}"
        )
    try:
        from sacrebleu import corpus_bleu
    except ImportError:
        raise FoveateError("BLEU needs the package sacrebleu: install foveate[text]") from None
    return float(corpus_bleu(list(hypotheses), [list(references)]).score)


def bleu_of_captions(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """BLEU-4 of captions that have several references each, from 0 to 100, words split at spaces.

    Args:
        hypotheses: Captions, as words with spaces between.
        references: The references of each, at least one; their number may differ.

    Example:
        >>> round(bleu_of_captions(["a dog on the grass"], [["a dog", "a dog on the grass"]]), 6)
        100.0
    """
    if len(hypotheses) != len(references) or not hypotheses or not all(references):
        raise FoveateError(
            f"every caption needs a reference: got {len(hypotheses)} and {len(references)}"
        )
    try:
        from sacrebleu import corpus_bleu
    except ImportError:
        raise FoveateError("BLEU needs the package sacrebleu: install foveate[text]") from None
    streams = [
        [listed[k] if k < len(listed) else None for listed in references]
        for k in range(max(map(len, references)))
    ]
    return float(corpus_bleu(list(hypotheses), streams, tokenize="none").score)  # type: ignore[arg-type]
