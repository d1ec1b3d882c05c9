"""Agreement of attention with word knowledge, on many data sets. [snell21] Sec. 3, 5.1, Tables 1–9

Parts of labelled texts are made by :mod:`.texts`, parts of sentence pairs by :mod:`.pairs`; what
both record is described in :mod:`.comparison`.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from foveate.jobs.experiment import EXPERIMENTS, Records, Scale, Work
from foveate.records.published import Cell
from foveate.settings import Count, Positive, Settings, Share
from foveate.studies.published import Reproduction
from foveate.studies.snell21.agreement.causes import CAUSES
from foveate.studies.snell21.agreement.published import PUBLISHED, title
from foveate.studies.snell21.agreement.revisions import REVISIONS

__all__ = ["Agreement", "AgreementSettings", "checkpoints"]


class AgreementSettings(Settings):
    """Data sets, sizes of the models and lengths of the trainings."""

    texts: tuple[str, ...] = ("sst", "newsgroups", "ag_news", "imdb", "amazon", "yelp", "sms")
    """Sets of labelled texts; those whose files are not here are left out."""
    pairs: tuple[str, ...] = ()
    """Sets of sentence pairs; those whose files are not here are left out."""
    seeds: Count = 3  # the paper shows one
    train: Count | None = None
    """At most so many training texts; None for all."""
    validation: Annotated[int, Field(ge=4)] = 4000  # [snell21] A.8
    sample: Count = 1000  # ours: training texts that are read (Table 6 reads all)
    longest: Count | None = None
    """Texts are cut after so many words; None for whole texts, as in the paper."""
    embedding: Count = 300  # [snell21] A.8
    d: Count = 256  # [snell21] A.8
    vectors: str | None = None  # [snell21] A.8: GloVe-6B; the released code overwrites it
    """File of GloVe vectors to begin with; None draws N(0, 1)."""
    score: Literal["mlp", "linear"] = (
        "mlp"  # [snell21] Sec. 2.4; the reader of the blog has a linear one
    )
    batch: Count = 32  # [snell21] A.8
    lr: Positive = 1e-3  # released code
    steps: Count = 4000  # [snell21] A.8
    proxy_d: Count = 256  # released code
    proxy_lr: Positive = 1.5e-4  # released code: 5e-5 or 1.5e-4
    proxy_epochs: Count = 60  # released code
    outlier: str = "sms"  # [snell21] A.9
    pair_train: Count | None = None
    """At most so many training pairs; None for all."""
    pieces: Count = 8000  # [snell21] A.8
    pair_read: Annotated[int, Field(ge=4)] = 1014  # all of Multi30k's validation pairs
    pair_sample: Count = 500  # ours: training pairs that are read (Table 6 reads all)
    pair_d: Count = 256  # [snell21] A.8
    pair_layers: Count = 2  # [snell21] A.8
    pair_dropout: Share = 0.5  # [snell21] A.8
    pair_batch: Count = 16  # [snell21] A.8
    pair_proxy_batch: Count = 16  # the paper does not specify it
    pair_steps: Count = 36_000  # released notebooks; 20 epochs of Multi30k
    pair_translated: Count = 1014  # ours: sentences that BLEU is measured on
    beam: Count = 5  # released code


def checkpoints(steps: int) -> list[int]:
    """Steps to measure at: 0, 10, 50, 100, 150, 200, 250, then every 250, and the last. A.8

    Example:
        >>> checkpoints(600)
        [0, 10, 50, 100, 150, 200, 250, 500, 600]
    """
    first = (0, 10, 50, 100, 150, 200)
    return sorted({*(step for step in first if step < steps), *range(250, steps, 250), steps})


@EXPERIMENTS.register("agreement")
class Agreement(Reproduction):
    """Compare attention with word knowledge learnt without attention."""

    published = PUBLISHED
    causes = CAUSES
    about = "attention against word knowledge: agreement tables over data sets and seeds"
    long = True
    criteria: ClassVar[Mapping[str, str]] = {
        "snell21:C1": "For each data set A(α, β_uf) − twice the random level (fair ties; β_uf at "
        "the checkpoint chosen on one half of the validation data, read on the other half): the "
        "95 % interval over seeds lies above 0. Met, undecided or contradicted for each data set; "
        "as in the paper's tables, SMS does not count.",
        "snell21:C2": "The same for A(β_uf, β_px), at the same checkpoint.",
        "snell21:C3": "The same for A(Δ, β_uf), at the same checkpoint.",
        "snell21:C4": "The same for A(α, β), both of one model at its end.",
        "snell21:C14": "For each set of texts the best agreement A(α_fr(τ), α) of attention learnt "
        "with all else frozen (checkpoint chosen on one half, read on the other; fair ties) is "
        "below A(α, β_uf): the 95 % interval of the difference over seeds lies above 0. Holds for "
        "all sets, in part for at least half; SMS does not count.",
        "snell21:C16": "With the excess A(α_A, α_B) − random level between two seeds at the end: "
        "(a) SMS has the lowest of all sets of texts, and (b) the 95 % interval of the mean of the "
        "other sets minus SMS lies above 0. Holds with both, in part with (b); no finding where "
        "SMS is not there.",
        "snell21:C17": "For each data set, with the checkpoint that maximises A(α, β_uf(τ)) on one "
        "half of the validation data and values of the other half (fair ties): the 95 % intervals "
        "over seeds of its rise from step 0 and of its fall to the last step lie above 0. Two "
        "conditions for each data set, each met, undecided or contradicted; SMS does not count.",
        "snell21:C18": "(a) On a sample of training data the means of A(α, β_uf), A(β_uf, β_px), "
        "A(Δ, β_uf) and A(α, β) all exceed the random level by .05; (b) with BLEU as performance "
        "ξ(α, β_uf) is at least a tenth of ξ*. Holds with (a) in every data set and (b) in every "
        "set of pairs, one at least; in part with (a) in at least half of the data sets.",
    }
    revisions = REVISIONS
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": AgreementSettings(
            texts=("keywords",),
            seeds=2,
            train=200,
            validation=40,
            sample=20,
            embedding=16,
            d=16,
            lr=0.02,
            steps=10,
            proxy_d=16,
            proxy_lr=0.02,
            proxy_epochs=3,
            outlier="keywords",
            pairs=("made-up",),
            pair_train=64,
            pair_read=12,
            pair_sample=4,
            pair_d=8,
            pair_layers=1,
            pair_batch=8,
            pair_proxy_batch=8,
            pair_steps=6,
            pair_translated=4,
            beam=2,
        ),
        "small": AgreementSettings(
            texts=("sst", "newsgroups", "ag_news", "sms"),
            seeds=2,
            train=8000,
            validation=600,
            sample=300,
            longest=100,
            embedding=100,
            d=128,
            steps=400,
            proxy_d=64,
            proxy_lr=1e-3,
            proxy_epochs=15,
            pairs=("multi30k",),
            pair_read=240,
            pair_sample=80,
            pair_d=128,
            pair_proxy_batch=64,
            pair_steps=800,
            pair_translated=100,
            beam=1,
        ),
        "paper": AgreementSettings(pairs=("multi30k", "iwslt14")),
    }

    def parts(self, settings: AgreementSettings) -> Mapping[str, Work]:
        from foveate.studies.snell21.agreement.pairs import available_pairs, pair_part
        from foveate.studies.snell21.agreement.texts import available_texts, text_part

        texts = available_texts(settings.texts) or (("keywords",) if settings.texts else ())
        return {name: partial(text_part, settings, name) for name in texts} | {
            name: partial(pair_part, settings, name) for name in available_pairs(settings.pairs)
        }

    def cells(self, settings: AgreementSettings, records: Records) -> list[Cell]:
        from foveate.studies.snell21.agreement.record_values import agreement_cells

        return [one for data, record in records.items() for one in agreement_cells(data, record)]

    def differs(self, settings: AgreementSettings, records: Records) -> list[str]:
        from foveate.studies.snell21.agreement.wording import deviation

        return [deviation(settings, records)]

    def runnable(self, settings: AgreementSettings) -> tuple[Settings, dict[str, str]]:
        from foveate.studies.snell21.agreement.pairs import available_pairs
        from foveate.studies.snell21.agreement.texts import available_texts

        texts, pairs = available_texts(settings.texts), available_pairs(settings.pairs)
        missing = {*settings.texts, *settings.pairs} - {*texts, *pairs}
        reasons = {title(name): "its files are not in the folder FOVEATE_DATA" for name in missing}
        return settings.model_copy(update={"texts": texts, "pairs": pairs}), reasons
