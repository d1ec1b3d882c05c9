"""torchmil's models, trained by torchmil's own trainer on the same folds."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from foveate.bags.bag import Bag
from foveate.metrics.localisation import pointing_game, segment_auroc
from foveate.records.record import Record
from foveate.studies.beyond.real_bags.fitting import first_of_each_class
from foveate.studies.beyond.real_bags.scoring import score_values
from foveate.studies.beyond.real_bags.sets import SETS
from foveate.types import Array, StepProgress
from foveate.userdata.folds import Folds, draw_cross_fit
from foveate.userdata.prepare import Preparation
from foveate.userdata.settings import FitSettings

if TYPE_CHECKING:
    from foveate.studies.beyond.real_bags import RealBagsSettings

__all__ = ["train_peer"]

EPOCHS, PATIENCE, BATCH = 30, 10, 16
LR, DECAY = 1e-3, 1e-4
WIDTH = 128  # torchmil's default width of attention; TransMIL's is 512, too slow for one core


def train_peer(
    settings: "RealBagsSettings", name: str, peer: str, checkpoint: Path, progress: StepProgress
) -> Record:
    """Out-of-fold scores of one of torchmil's models, and how well its attention points.

    Args:
        settings: Settings of the study.
        name: The set.
        peer: "abmil", "dsmil" or "transmil".
        checkpoint: Not used: a fold takes seconds.
        progress: Called as ``progress(folds done, folds)``.
    """
    del checkpoint
    collection = SETS[name].load()
    if settings.bags:
        collection = first_of_each_class(collection, settings.bags)
    fit_settings = FitSettings(**settings.fit_changes())
    folds = draw_cross_fit(collection, fit_settings)
    rows = torch.from_numpy(folds.rows)
    bag = Preparation.learn(collection, rows, fit_settings, None).apply(collection)
    p, attention = np.zeros((len(bag), 2)), np.full(bag.shape, -np.inf)
    for fold in range(fit_settings.folds):
        held_out = folds.held_out(0, fold)
        model = _trained(peer, bag, folds, fold, settings.epochs or EPOCHS)
        p[held_out], attention[held_out] = _read(model, bag.take(torch.from_numpy(held_out)))
        progress(fold + 1, fit_settings.folds)
    final = dict(score_values(peer, p, bag.y.numpy()))
    if collection.known is not None and bag.z is not None:
        known = collection.known.numpy() & bag.z.any(1).numpy()
        mask = np.ones(bag.shape, bool) if bag.mask is None else bag.mask.numpy()
        arrays = attention[known], bag.z.numpy()[known] & mask[known], mask[known]
        final[f"{peer}/attention/ft"] = np.array(np.nanmean(pointing_game(*arrays)))
        final[f"{peer}/attention/segment_auroc"] = np.array(np.nanmean(segment_auroc(*arrays)))
    meta = {"set": name, "role": SETS[name].role, "repeat": 0, "names": [peer]}
    return Record(np.zeros(1), {}, final, meta)


def _trained(peer: str, bag: Bag, folds: Folds, fold: int, epochs: int) -> nn.Module:
    """A model trained without a fold; the epoch with the best accuracy on an inner fold counts."""
    from torchmil.utils.trainer import Trainer

    rows = folds.training(0, fold)
    inner = folds.inner[0, fold, rows] == 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(fold)
        model = _built(peer, bag.segment_shape)
        trainer = Trainer(
            model,
            torch.optim.Adam(model.parameters(), LR, weight_decay=DECAY),
            device="cpu",
            early_stop_patience=PATIENCE,
            disable_pbar=True,
            verbose=False,
        )
        trainer.train(epochs, *(_loader(peer, bag, rows[part]) for part in (~inner, inner)))
    best: nn.Module = trainer.get_best_model()
    return best.eval()


def _built(peer: str, shape: tuple[int, ...]) -> nn.Module:
    from torchmil.models import ABMIL, DSMIL, TransMIL

    kinds: dict[str, Any] = {"abmil": ABMIL, "dsmil": DSMIL, "transmil": TransMIL}
    model: nn.Module = kinds[peer](in_shape=shape, att_dim=WIDTH)
    return model


def _loader(peer: str, bag: Bag, rows: Array) -> Any:
    """Shuffled batches; of one bag where a model has no mask (TransMIL) or ignores it (DSMIL)."""
    from tensordict import TensorDict

    def collate(chosen: list[int]) -> Any:
        part = bag.take(torch.tensor(chosen))
        x, mask = _segments(part)
        batch = {"X": x, "Y": part.y.float(), "mask": mask}
        return TensorDict(batch, batch_size=[len(chosen)])

    size = BATCH if peer == "abmil" else 1
    row_list = rows.tolist()
    return torch.utils.data.DataLoader(row_list, size, shuffle=True, collate_fn=collate)


def _segments(bag: Bag) -> tuple[Tensor, Tensor]:
    """Segments (B, m, d) without columns that no bag uses, and their mask."""
    mask = torch.ones(bag.shape, dtype=torch.bool) if bag.mask is None else bag.mask
    used = int(mask.any(0).nonzero()[-1]) + 1
    return bag.dense()[:, :used].float(), mask[:, :used]


@torch.no_grad()
def _read(model: nn.Module, bag: Bag) -> tuple[Array, Array]:
    """Probabilities (n, 2) and attention (n, m), −∞ on padding, bag by bag."""
    p, attention = np.zeros((len(bag), 2)), np.full(bag.shape, -np.inf)
    for row in range(len(bag)):
        x, _ = _segments(bag.take(slice(row, row + 1)))
        logit, scored = model(x, return_att=True)
        positive = float(torch.sigmoid(logit.flatten()[0]))
        p[row] = 1 - positive, positive
        attention[row, : x.shape[1]] = scored.flatten()[: x.shape[1]].numpy()
    return p, attention
