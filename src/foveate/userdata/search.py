"""Search for the settings of training, within the training bags of one fold.

Every trial trains one member and is scored by its log loss on the inner validation bags of that
fold. The bags that the fold holds out, which give all reported numbers, take no part.
"""

from collections.abc import Callable
from typing import Any

from foveate.errors import FoveateError
from foveate.userdata.settings import FitSettings

__all__ = ["SPACE", "search_settings"]

SPACE: dict[str, tuple[float, float]] = {"lr": (1e-3, 3e-2), "weight_decay": (1e-4, 1e-1)}
"""Settings that are searched on a logarithmic scale, with their bounds."""
DROPOUT = (0.0, 0.25, 0.5)


def search_settings(
    settings: FitSettings, score: Callable[[FitSettings, int], float], seed: int
) -> tuple[FitSettings, dict[str, Any]]:
    """The best of ``settings.search`` settings of training; the first trial is the given one.

    Args:
        settings: Settings of the fit.
        score: From settings and the number of a trial to a log loss.
        seed: Decides the trials.

    Returns:
        The settings with learning rate, weight decay and dropout changed, and these three.
    """
    optuna = _optuna()
    names = (*SPACE, "dropout")

    def objective(trial: Any) -> float:
        tried = {name: trial.suggest_float(name, *ends, log=True) for name, ends in SPACE.items()}
        tried["dropout"] = trial.suggest_categorical("dropout", DROPOUT)
        return score(settings.model_copy(update=tried), trial.number)

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial(_within({name: getattr(settings, name) for name in names}))
    study.optimize(objective, n_trials=settings.search)
    best = {name: float(study.best_params[name]) for name in names}
    return settings.model_copy(update=best), best


def _within(values: dict[str, float]) -> dict[str, float]:
    """Values moved into the bounds of the search."""
    moved = {name: min(max(values[name], low), high) for name, (low, high) in SPACE.items()}
    return {**moved, "dropout": min(DROPOUT, key=lambda share: abs(share - values["dropout"]))}


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise FoveateError(
            "--search needs optuna, which is not installed: pip install 'foveate[search]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
