r"""Text classifiers of the transformers library as readers of bags of words.

A text is a bag of its words (pieces merged). The state that is classified is that of the first
piece (CLS), of the last one, or the mean over all; which of them is found by the gradient of the
logits with respect to the last states. Attention :math:`\alpha_l` is the row of that piece in the
last layer, mean over heads (of a mean state: the mean over rows), summed over the pieces of a word
and normalised over words; attention on special pieces is left out.

Forced attention sets the row of the classified piece in all layers and heads together; of a mean
state it says nothing, since the words' own residual streams are averaged whatever is attended.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.text.transformers.attention import AttentionRecorder, Forcing, record_attention
from foveate.text.transformers.embeddings import captured_embedding
from foveate.text.transformers.pieces import Pieces, Splitter
from foveate.types import Array

__all__ = ["TextEncoder", "TextReading"]

Summary = Literal["first", "last", "mean"]
CELLS = 1 << 13  # padded pieces read together


class TextReading(NamedTuple):
    """Output of a classifier for texts.

    Args:
        p: Class probabilities, shape (n, C).
        alpha: Attention over the words of each text.
    """

    p: Array
    alpha: list[Array]


class TextEncoder:
    """A classifier of texts with its tokenizer.

    Args:
        model: Of the transformers library, in evaluation mode, with logits (B, C).
        tokenizer: Its tokenizer.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        if model.config.is_encoder_decoder:
            raise FoveateError("a classifier of texts is needed, got an encoder–decoder")
        self.model, self.split = model, Splitter(tokenizer)
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
        self.longest = getattr(model.config, "max_position_embeddings", None)
        with record_attention(model):  # an error for models without the interface
            self.summary = self._summary()

    @property
    def forceable(self) -> bool:
        """Whether forced attention decides what is classified."""
        return self.summary != "mean"

    @property
    def classes(self) -> int:
        """Number of classes; one logit for two classes."""
        return max(2, int(self.model.config.num_labels))

    def read(self, texts: Sequence[Sequence[str]]) -> TextReading:
        """Probabilities and attention of texts, each a list of words."""
        p = np.zeros((len(texts), self.classes))
        alpha: list[Array] = [np.zeros(0)] * len(texts)
        with torch.no_grad(), record_attention(self.model) as recorder:
            for rows, ids, mask, pieces in self._batches(texts):
                p[rows] = self._probabilities(ids, mask)
                weights = self._row(recorder, mask)
                for k, row in enumerate(rows):
                    words = torch.stack(
                        [weights[k, positions].sum() for positions in pieces[k].words]
                    )
                    alpha[row] = (words / words.sum().clamp_min(1e-30)).double().numpy()
        return TextReading(p, alpha)

    def forced(self, texts: Sequence[Sequence[str]], alpha: Sequence[Array]) -> Array:
        """Probabilities with given attention over words, spread evenly over their pieces, (n, C).

        Args:
            texts: Lists of words.
            alpha: Attention over the words of each text, summing to one.
        """
        if not self.forceable:
            raise FoveateError("the mean over all words is classified: attention has no effect")
        p = np.zeros((len(texts), self.classes))
        with torch.no_grad(), record_attention(self.model) as recorder:
            for rows, ids, mask, pieces in self._batches(texts):
                weights = torch.zeros(ids.shape)
                for k, row in enumerate(rows):
                    for value, positions in zip(alpha[row], pieces[k].words, strict=True):
                        weights[k, positions] = float(value) / len(positions)
                with self._forcing(recorder, weights, mask):
                    p[rows] = self._probabilities(ids, mask)
        return p

    def influence(self, texts: Sequence[Sequence[str]], y: Sequence[int]) -> list[Array]:
        r"""Influence :math:`\Delta_l = -e_l \cdot \partial L / \partial e_l` of every word.

        Args:
            texts: Lists of words.
            y: Class of each text, whose :math:`L = -\log p_y` is meant.
        """
        values: list[Array] = [np.zeros(0)] * len(texts)
        for rows, ids, mask, pieces in self._batches(texts):
            with torch.enable_grad(), captured_embedding(self.model) as embedded:
                log_p = self._log_p(self.model(input_ids=ids, attention_mask=mask).logits)
                targets = torch.tensor([y[row] for row in rows])
                loss = -log_p.gather(1, targets[:, None]).sum()
                (gradient,) = torch.autograd.grad(loss, embedded[0])
            change = -(embedded[0].detach() * gradient).sum(-1)
            for k, row in enumerate(rows):
                words = [change[k, positions].sum() for positions in pieces[k].words]
                values[row] = torch.stack(words).double().numpy()
        return values

    def _log_p(self, logits: Tensor) -> Tensor:
        if logits.shape[1] == 1:
            both = torch.cat([-logits, logits], 1)
            return torch.nn.functional.logsigmoid(both.double())
        return logits.double().log_softmax(1)

    def _probabilities(self, ids: Tensor, mask: Tensor) -> Array:
        logits = self.model(input_ids=ids, attention_mask=mask).logits
        p: Array = self._log_p(logits).exp().numpy()
        return p

    def _batches(
        self, texts: Sequence[Sequence[str]]
    ) -> Iterator[tuple[list[int], Tensor, Tensor, list[Pieces]]]:
        """Texts of similar length, padded on the right: their numbers, pieces, mask, and words."""
        split = [self.split(words) for words in texts]
        order = sorted(range(len(texts)), key=lambda i: len(split[i].ids))
        if order and self.longest is not None and len(split[order[-1]].ids) > self.longest:
            longest = len(split[order[-1]].ids)
            raise FoveateError(
                f"text {order[-1]} has {longest} pieces, and the model reads {self.longest} at "
                "most: cut it"
            )
        while order:
            rows = [order[0]]
            for i in order[1:]:
                if (len(rows) + 1) * len(split[i].ids) > CELLS:
                    break
                rows.append(i)
            order = order[len(rows) :]
            length = max(len(split[i].ids) for i in rows)
            ids = [split[i].ids + [self.pad] * (length - len(split[i].ids)) for i in rows]
            lengths = torch.tensor([len(split[i].ids) for i in rows])
            mask = (torch.arange(length) < lengths[:, None]).long()
            yield rows, torch.tensor(ids), mask, [split[i] for i in rows]

    def _row(self, recorder: AttentionRecorder, mask: Tensor) -> Tensor:
        """Attention of the classified state in the last layer, mean over heads, shape (B, L)."""
        last = recorder.of("encoder")[-1].mean(1)
        if self.summary == "mean":
            real = mask.to(last.dtype)[:, :, None]
            return (last * real).sum(1) / real.sum(1)
        return last[torch.arange(len(last)), self._classified_positions(mask)]

    def _classified_positions(self, mask: Tensor) -> Tensor:
        """The classified piece of each text, shape (B,)."""
        return mask.sum(1) - 1 if self.summary == "last" else torch.zeros(len(mask)).long()

    @contextmanager
    def _forcing(
        self, recorder: AttentionRecorder, weights: Tensor, mask: Tensor
    ) -> Iterator[None]:
        rows = torch.nn.functional.one_hot(self._classified_positions(mask), mask.shape[1]).bool()
        with recorder.set_to(Forcing(weights[:, None], rows, "encoder")):
            yield

    def _summary(self) -> Summary:
        """Which of the last states are classified."""
        vocabulary = self.model.get_input_embeddings().weight.shape[0]
        size = 6
        ids = (torch.arange(size) + vocabulary // 2)[None].clamp_max(vocabulary - 1)
        states: list[Tensor] = []

        def keep(_module: Any, _inputs: Any, output: Any) -> None:
            if isinstance(output, Tensor) and output.dim() == 3 and output.shape[1] == size:
                states.append(output)

        handles = [part.register_forward_hook(keep) for part in self.model.modules()]
        try:
            with torch.enable_grad():
                logits = self.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
                gradients = torch.autograd.grad(logits.sum(), states, allow_unused=True)
        finally:
            for handle in handles:
                handle.remove()
        # The last states that the logits depend on: those after which nothing mixes places.
        used = [g for g in gradients if g is not None and bool(g.abs().sum() > 0)]
        used_inputs = used[-1].abs().sum(-1)[0] > 0 if used else torch.zeros(size)
        if bool(used_inputs.all()):
            return "mean"
        if used_inputs.nonzero().flatten().tolist() == [0]:
            return "first"
        if used_inputs.nonzero().flatten().tolist() == [size - 1]:
            return "last"
        raise FoveateError(
            f"{type(self.model).__name__} classifies neither its first nor its last state nor "
            "their mean, so that no attention can be read"
        )
