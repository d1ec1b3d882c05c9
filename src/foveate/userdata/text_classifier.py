"""Text classifiers of the transformers library that explain new texts, as fitted models do."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.text.transformers.encoder import TextEncoder
from foveate.text.transformers.loading import load_classifier
from foveate.trust.explanation import Explained
from foveate.trust.text_model import UNNAMED, class_order
from foveate.types import Array, StepProgress

__all__ = ["TextClassifier", "load_text_classifier", "texts_of"]

TOGETHER = 8  # texts whose words are forced together


@dataclass(frozen=True)
class TextClassifier:
    """A classifier of texts, with what tables and pages of explanations need of a model.

    Args:
        name: Its name on pages.
        encoder: The model.
        classes: Names of the classes.
        order: The model's number of every class.
    """

    name: str
    encoder: TextEncoder
    classes: tuple[str, ...]
    order: tuple[int, ...]
    null: bool = False

    def probabilities(self, explained: Explained) -> Array:
        """Probabilities of the classes, shape (n, C)."""
        return explained.p

    def predicted(self, p: Array) -> Array:
        """The most probable class of each text, shape (n,)."""
        return p.argmax(1)

    def explain(
        self,
        texts: Sequence[Sequence[str]],
        report: StepProgress = lambda _done, _total: None,
    ) -> Explained:
        """Predictions, attention, and centred logits of every word.

        The logits of a word are those with all attention of the classified piece on it, in all
        layers and heads; where the mean over words is classified, those of the word as a text.

        Args:
            texts: Each a list of words.
            report: Called as ``report(texts done, texts in all)``.
        """
        read, alone = self.encoder.read(texts), []
        for start in range(0, len(texts), TOGETHER):
            some = texts[start : start + TOGETHER]
            alone += self._alone(some)
            report(start + len(some), len(texts))
        log_p = np.log(np.maximum(read.p[:, list(self.order)], 1e-300))
        evidence = [a[:, None] * v for a, v in zip(read.alpha, alone, strict=True)]
        return Explained(log_p[None], read.alpha, evidence, alone)

    def _alone(self, texts: Sequence[Sequence[str]]) -> list[Array]:
        """Centred logits of single words, one array (m, C) a text."""
        if self.encoder.forceable:
            copies = [text for text in texts for _ in text]
            p = self.encoder.forced(copies, [row for text in texts for row in np.eye(len(text))])
        else:
            p = self.encoder.read([[word] for text in texts for word in text]).p
        logits = np.log(np.maximum(p[:, list(self.order)], 1e-300))
        logits -= logits.mean(1, keepdims=True)
        return np.split(logits, np.cumsum([len(text) for text in texts])[:-1])


def load_text_classifier(path: Path, collection: Collection) -> TextClassifier:
    """The classifier in a folder, with the classes of labelled texts, or its own.

    Args:
        path: As ``save_pretrained`` wrote it.
        collection: The texts.
    """
    model, tokenizer = load_classifier(path)
    encoder = TextEncoder(model, tokenizer)
    names = [str(model.config.id2label.get(k, k)) for k in range(encoder.classes)]
    classes = collection.classes if collection.labelled else names
    if not collection.labelled and names[0].startswith(UNNAMED):
        classes = [str(k) for k in range(encoder.classes)]
        return TextClassifier(path.name, encoder, tuple(classes), tuple(range(encoder.classes)))
    order = class_order(model.config, classes)
    return TextClassifier(path.name, encoder, tuple(classes), tuple(order))


def texts_of(collection: Collection) -> list[list[str]]:
    """The words of every text, in the order of the collection."""
    if collection.words is None:
        raise FoveateError("a text classifier reads texts, but the bags have no words")
    bag = collection.bag
    rows = [
        bag.index[i] if bag.mask is None else bag.index[i][bag.mask[i]] for i in range(len(bag))
    ]
    return [[collection.words[k] for k in row.tolist()] for row in rows]
