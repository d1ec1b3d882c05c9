"""``foveate.examine``: whether the attention of any model can be trusted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from foveate.errors import FoveateError
from foveate.records.record import Record
from foveate.records.runs import Run

if TYPE_CHECKING:
    from foveate.bags.bag import Bag
    from foveate.io.collection import Collection
    from foveate.trust.calling import Adjacency
    from foveate.trust.examination import Trust
    from foveate.trust.external import AttentionOutput, OutputKind
    from foveate.types import Array

__all__ = ["examine", "with_features"]


class _Labelled(NamedTuple):
    """Labelled bags with their classes and known relevant segments."""

    bag: Any
    classes: Sequence[str]
    known: Any = None
    ids: Sequence[str] | None = None
    missing: bool = False


def examine(
    model: Any,
    bags: "Bag | Sequence[Bag] | Collection | None" = None,
    *,
    classes: Sequence[str] | None = None,
    paradigm: str | None = None,
    known: Any = None,
    absent: Sequence[str] = (),
    relevant: int | None = None,
    evidence: str | Mapping[str, str] | None = None,
    more: "Bag | None" = None,
    labels: "Array | None" = None,
    ids: Sequence[str] | None = None,
    adjacency: "Adjacency | None" = None,
    places: "Adjacency | None" = None,
    attention: "AttentionOutput | None" = None,
    outputs: "OutputKind | None" = None,
    seed: int | None = None,
    tokenizer: Any = None,
    probe: bool = True,
) -> "Trust":
    """Decide whether the attention of a model can be trusted, from held-out labelled bags.

    Args:
        model: A module or function that returns answers and attention, as
            ``model(x, mask, alpha=None) -> (logits, scores)`` or in any form that
            :mod:`foveate.trust.external` recognises; several of one kind (seeds) as a list; a model
            of this library, a stack, a record of :func:`foveate.fit`, a
            :class:`~foveate.FocusClassifier`, or the directory of a run.
        bags: Labelled bags that the model was not trained on; of a run, its own held-out bags
            unless given.
        classes: Names of the classes; numbers unless given.
        paradigm: Of models of this library, whose inference is theirs ("soft" unless given); of a
            run, which of its paradigms (the one it chose unless given).
        known: Which bags' relevance is known, boolean (n,).
        absent: Classes that mean that nothing is there; inferred unless given.
        relevant: How many segments of a bag may be evidence; inferred unless given.
        evidence: Which kind of evidence is meant, "A" or "B", where there are two.
        more: Further labelled bags that the auditor may learn from, such as the training bags.
        labels: Known labels of the bags other than their class, boolean (n, L).
        ids: Names of the bags.
        adjacency: For graph models, a function from segments (B, m, …) and mask (B, m) to links
            (B, m, m).
        places: For models that take coordinates, the same to places (B, m, 2).
        attention: "scores" or "weights": whether attention is normalised; recognised unless given.
        outputs: "logits" or "probabilities"; recognised unless given.
        seed: Set before every call of a model that draws random numbers.
        tokenizer: Of a text classifier of the transformers library; the bags are then texts, as
            ``read_bags`` returns them.
        probe: Whether to fit a fresh probe on what is not attended.

    Example:
        >>> import torch
        >>> def model(x, mask):
        ...     s = 9 * x[..., 0].masked_fill(~mask, -torch.inf)
        ...     return (s.softmax(1) * (x[..., 0] - 2)).sum(1), s
        >>> y = torch.arange(200) % 2
        >>> x = torch.randn(200, 6, 2, generator=torch.Generator().manual_seed(0))
        >>> x[:, 2, 0] += 5.0 * y
        >>> from foveate import Bag
        >>> trust = examine(model, Bag(x, y), probe=False)
        >>> trust.by_class[1]["verdict"]["grade"]
        'trust with care'
    """
    from foveate.trust.calling import model_name
    from foveate.trust.examine import examine as examine_subject

    options: dict[str, Any] = {
        "absent": absent, "relevant": relevant, "evidence": evidence, "more": more,
        "labels": labels, "probe": probe,
    }  # fmt: skip
    if isinstance(model, str | Path | Run):
        return _examine_run(model, bags, paradigm, options)
    words: tuple[str, ...] = ()
    if tokenizer is not None:
        bags, words = _texts(bags)
    labelled = _labelled(bags, classes, known, ids)
    subject: Any
    if tokenizer is not None:
        subject, rule = _text_models(model, tokenizer, words, labelled.classes), "soft"
    else:
        subject, rule, labelled = _subject(
            model, paradigm, labelled,
            {
                "adjacency": adjacency, "places": places, "attention": attention,
                "outputs": outputs, "seed": seed,
            },
        )  # fmt: skip
    options |= {"known": labelled.known, "ids": labelled.ids}
    outside = hasattr(subject, "readers") or tokenizer is not None
    name = model_name(_first(model)) if outside and not paradigm else rule
    trust = examine_subject(subject, rule, labelled.bag, labelled.classes, name=name, **options)
    return trust if getattr(bags, "words", None) is None else _with_words(trust, bags)


def _with_words(trust: "Trust", bags: Any) -> "Trust":
    """The result with the words of the segments that it names, where bags are texts."""
    from foveate.bags.segments import as_mosaics

    row, index = {name: i for i, name in enumerate(bags.ids)}, as_mosaics(bags.bag.x).index

    def word(name: str, segment: int) -> str:
        text: str = bags.words[int(index[row[name], segment])]
        return text

    for entry in trust.by_class:
        kinds = entry["answers"]["kinds"]["examples"]
        for kind, pairs in kinds.items():
            kinds[kind] = [(name, segment, word(name, segment)) for name, segment in pairs]
    examples = (bag | {"word": word(bag["bag"], bag["segment"])} for bag in trust.examples)
    return replace(trust, examples=tuple(examples))


def _labelled(bags: Any, classes: Sequence[str] | None, known: Any, ids: Any) -> _Labelled:
    from foveate.bags.bag import Bag
    from foveate.io.collection import Collection

    if isinstance(bags, Collection):
        if not bags.labelled:
            raise FoveateError("bags must have labels to examine a model on them")
        marked = None if bags.known is None else bags.known.numpy()
        holes = bags.missing is not None
        return _Labelled(bags.bag, classes or bags.classes, marked, bags.ids, holes)
    if bags is None:
        raise FoveateError("labelled bags are needed: examine(model, bags)")
    sets = [bags] if isinstance(bags, Bag) else list(bags)
    if not sets or not all(isinstance(bag, Bag) for bag in sets):
        raise FoveateError("bags must be a foveate.Bag, a list of them, or what read_bags returns")
    count = max(int(bag.y.max()) for bag in sets) + 1
    names = tuple(classes) if classes else tuple(str(c) for c in range(max(2, count)))
    return _Labelled(bags, names, known, ids)


def _texts(bags: Any) -> tuple[Any, tuple[str, ...]]:
    """Texts as bags of numbered words, and the words."""
    words = getattr(bags, "words", None)
    if words is None:
        raise FoveateError(
            "a text classifier reads texts: give what foveate.io.read_bags returns for a table of "
            "texts"
        )
    return with_features(bags), tuple(dict.fromkeys(words))


def _text_models(model: Any, tokenizer: Any, words: Sequence[str], classes: Sequence[str]) -> Any:
    from foveate.text.transformers.encoder import TextEncoder
    from foveate.trust.text_model import TextModels

    several = list(model) if isinstance(model, list | tuple) else [model]
    return TextModels([TextEncoder(part, tokenizer) for part in several], words, classes)


def with_features(bags: "Collection") -> "Collection":
    """Bags as the auditor reads them: words by their numbers, missing numbers imputed.

    Args:
        bags: What ``read_bags`` returned.
    """
    import torch

    from foveate.bags.imputation import Imputation
    from foveate.bags.segments import Mosaics, as_mosaics

    bag, bank = bags.bag, bags.bag.bank
    if bags.words is not None:
        number = {word: k for k, word in enumerate(dict.fromkeys(bags.words))}
        bank = torch.tensor([number[word] for word in bags.words])
    elif bags.missing is not None:
        every = torch.arange(len(bank))
        bank = Imputation.of(bank, bags.missing, every).apply(bank, bags.missing)
    else:
        return bags
    x = Mosaics(bank, as_mosaics(bag.x).index)
    return replace(bags, bag=replace(bag, x=x), missing=None)


def _subject(
    model: Any, paradigm: str | None, labelled: _Labelled, options: dict[str, Any]
) -> tuple[Any, str, _Labelled]:
    """What is examined, the paradigm that reads it, and the bags as it reads them."""
    from foveate.models.focus import AttentionModel
    from foveate.training.stack import Stack
    from foveate.trust.external import External
    from foveate.trust.subject import Subject
    from foveate.userdata.estimator import FocusClassifier

    if isinstance(model, FocusClassifier):
        prepared = labelled._replace(bag=model.prepared(labelled.bag))
        if labelled.classes == tuple(str(c) for c in range(len(labelled.classes))):
            prepared = prepared._replace(classes=tuple(str(c) for c in model.classes_))
        return model.examined(), model.paradigm, prepared
    if isinstance(model, Record):
        return model.trained, paradigm or model.meta.get("paradigm", "soft"), labelled
    first = _first(model)
    if isinstance(model, Subject | Stack) or isinstance(first, AttentionModel):
        return model, paradigm or "soft", labelled
    sets = [labelled.bag] if not isinstance(labelled.bag, list | tuple) else labelled.bag
    if labelled.missing:
        raise FoveateError(
            "the bags have missing numbers, which a model from elsewhere cannot know: fill them in"
        )
    subject = External(model, sets[0], classes=len(labelled.classes), **options)
    classes = subject.readers[0].classes
    if classes != len(labelled.classes):
        raise FoveateError(
            f"the model answers for {classes} classes, but the bags have {len(labelled.classes)}: "
            f"{', '.join(labelled.classes)}"
        )
    return subject, "soft", labelled


def _first(model: Any) -> Any:
    return model[0] if isinstance(model, list | tuple) and model else model


def _examine_run(run: Any, bags: Any, paradigm: str | None, options: dict[str, Any]) -> "Trust":
    """The chosen paradigm of a finished race or fit, on its held-out bags."""
    from foveate.jobs.job import open_trained
    from foveate.records.runs import open_run
    from foveate.trust.examine import examine as examine_subject

    if bags is not None:
        raise FoveateError(
            "a run is examined on its held-out bags; for others use 'foveate trust RUN --data FILE'"
        )
    opened = open_run(Path(run)) if isinstance(run, str | Path) else run
    job = open_trained(opened)
    names = list(job.model_records(opened))
    chosen = paradigm or opened.manifest.get("chosen") or names[0]
    if chosen not in names:
        raise FoveateError(f"{opened.path} has no paradigm '{chosen}'; it has {', '.join(names)}")
    part = next(iter(job.trained_parts(opened, [chosen], None, None)))
    options = {**options, "more": options["more"] or part.more, "known": part.known}
    return examine_subject(
        part.models, part.name, part.bags, part.classes, ids=part.ids, name=part.name, **options
    )
