"""The copy task at the paper's size, against plain PyTorch. Prints ratios measured in one run.

Training: one step (128 sequences of 40 words, states of 256) against the same model of ``nn.LSTM``
and ``nn.Embedding`` with the true words before each place, equal weights, equal loss. Evaluation:
50 sequences read at once against decoding step by step with the true words, equal predictions.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from foveate.randomness import generator
from foveate.text.copy_training import CopyTask, model_for
from foveate.text.corpora.copying import copying
from foveate.text.loop import built
from foveate.text.models.seq2seq import Seq2Seq, shifted

TASK = CopyTask("subset", length=40, d=256, batch=128, held_out=50, probed=10, lr=1e-3)


class Plain(nn.Module):
    """The same model in torch's own layers."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        words, d = model.table.shape
        self.embedding = nn.Embedding(words, d)
        self.encoder, self.decoder = (nn.LSTM(d, d, batch_first=True) for _ in range(2))
        self.head = nn.Linear(d, d, bias=False)
        self.hidden, self.out = nn.Linear(2 * d, d), nn.Linear(d, words)
        with torch.no_grad():
            self.embedding.weight.copy_(model.table)
            for ours, theirs in ((model.encoder, self.encoder), (model.decoder, self.decoder)):
                layer = ours.levels[0].forth
                sent = (layer.w_x, layer.w_h, layer.b_x, layer.b_h)
                for parameter, weight in zip(theirs.parameters(), sent, strict=True):
                    i, f, o, g = weight.chunk(4)  # torch has o last
                    parameter.copy_(torch.cat([i, f, g, o]))
        self.head.load_state_dict(model.heads[0].state_dict())
        self.hidden.load_state_dict(model.hidden.state_dict())
        self.out.load_state_dict(model.out.state_dict())

    def forward(self, x: Tensor, y_in: Tensor) -> Tensor:
        h, last = self.encoder(self.embedding(x))
        s, _ = self.decoder(self.embedding(y_in), last)
        alpha = (self.head(s) @ h.transpose(1, 2)).softmax(-1)
        return self.out(torch.tanh(self.hidden(torch.cat([alpha @ h, s], -1))))


def step(model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor) -> float:
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(x, shifted(y)).flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.step()
    return float(loss.detach())


@torch.no_grad()
def at_once(model: Seq2Seq, x: Tensor, y: Tensor) -> Tensor:
    return model(x, shifted(y)).argmax(-1)


@torch.no_grad()
def step_by_step(model: Seq2Seq, x: Tensor, y: Tensor) -> Tensor:
    """One sequence at a time, one word at a time."""
    outputs = []
    for row, true in zip(x, shifted(y), strict=True):
        at, words = model.steps(row[None]), []
        for word in true:
            scores, at = model.step(word[None], at)
            words.append(scores.argmax(-1))
        outputs.append(torch.cat(words))
    return torch.stack(outputs)


@torch.no_grad()
def batched_steps(model: Seq2Seq, x: Tensor, y: Tensor) -> Tensor:
    """All sequences together, one word at a time."""
    at, results = model.steps(x), []
    for word in shifted(y).unbind(1):
        scores, at = model.step(word, at)
        results.append(scores.argmax(-1))
    return torch.stack(results, 1)


def seconds(calls: list[Callable[[], object]], times: int) -> list[float]:
    """CPU seconds of each call, medians; they take turns, so that a busy machine disturbs all."""
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(times):
        for call, of in zip(calls, taken, strict=True):
            start = time.process_time()
            call()
            of.append(time.process_time() - start)
    return [statistics.median(of) for of in taken]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=9)
    times = parser.parse_args().times
    torch.set_num_threads(1)
    ours: Seq2Seq = built(partial(model_for, TASK), "benchmark")  # type: ignore[assignment]
    plain = Plain(ours)
    x, y = copying(TASK.kind, TASK.batch, generator("benchmark", "learn"), TASK.length)
    runs = [
        partial(step, model, torch.optim.Adam(model.parameters(), TASK.lr, fused=True), x, y)
        for model in (ours, plain)
    ]
    for number in range(3):  # equal losses, also after steps: equal gradients
        losses = [run() for run in runs]
        if abs(losses[0] - losses[1]) > 1e-5:
            raise SystemExit(f"losses differ at step {number}: {losses}")
    fast, slow = seconds(runs, times)
    print(
        f"copy task, training step: foveate {1e3 * fast:.0f} ms, nn.LSTM {1e3 * slow:.0f} ms, "
        f"ratio {slow / fast:.2f} (losses equal to 1e-5 over 3 steps)"
    )
    x, y = copying(TASK.kind, TASK.held_out, generator("benchmark", "read"), TASK.length)
    variants = [partial(way, ours, x, y) for way in (at_once, step_by_step, batched_steps)]
    results = [way() for way in variants]
    if not all(torch.equal(results[0], other) for other in results[1:]):
        raise SystemExit("predictions differ")
    once, by_step, together = seconds(variants, max(3, times // 3))
    print(
        f"copy task, reading {TASK.held_out} sequences: at once {1e3 * once:.0f} ms, step by step "
        f"{1e3 * by_step:.0f} ms, ratio {by_step / once:.1f}; step by step in a batch "
        f"{1e3 * together:.0f} ms, ratio {together / once:.1f} (predictions equal)"
    )
