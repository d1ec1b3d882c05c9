"""Examine a model or a table of attention that is named by files, as ``foveate trust`` does.

The code of a model from elsewhere runs in a process of its own: if it crashes or changes global
state, the caller is not touched, and what comes back is JSON.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from foveate.errors import FoveateError

__all__ = ["ExamineRequest", "examine_files", "examine_in_process"]

STDERR = 2  # file descriptor: what the other process prints goes there


@dataclass(frozen=True)
class ExamineRequest:
    """What to examine, as plain values.

    Args:
        data: Labelled bags, in any layout that :func:`foveate.io.read_bags` reads.
        columns: Which column is what, keywords of that function.
        model: ``package.module:object``, a .onnx file, or the folder of a transformers model.
        weights: Weights of the object, .safetensors.
        attention: A table of attention in place of a model.
        adjacency: Links between segments, for graph models.
        absent: Classes that mean that nothing is there.
        relevant: How many segments of a bag may be evidence.
        evidence: Which kind of evidence is meant.
        seed: Set before every call of a model that draws random numbers.
    """

    data: str
    columns: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    weights: str | None = None
    attention: str | None = None
    adjacency: Literal["chain", "complete"] | None = None
    absent: Sequence[str] = ()
    relevant: int | None = None
    evidence: Any = None
    seed: int | None = None


def examine_files(request: ExamineRequest) -> dict[str, Any]:
    """Examine in this process; the result as JSON holds it."""
    from foveate.io import read_bags
    from foveate.jobs.examine import examine, with_features
    from foveate.trust.attention_table import read_attention
    from foveate.trust.calling import ADJACENCIES

    bags = read_bags(request.data, labelled=True, **request.columns)
    if not bags.labelled:
        raise FoveateError(f"{request.data}: bags must have labels to examine a model on them")
    model: Any
    if request.attention is not None:
        bags = with_features(bags)
        model = read_attention(Path(request.attention), bags.ids, bags.bag, bags.classes)
    else:
        model = _model(request)
    tokenizer = None
    if isinstance(model, tuple):
        model, tokenizer = model
    trust = examine(
        model, bags, tokenizer=tokenizer,
        adjacency=ADJACENCIES.get(request.adjacency) if request.adjacency else None,
        absent=tuple(request.absent), relevant=request.relevant, evidence=request.evidence,
        seed=request.seed,
    )  # fmt: skip
    return trust.to_json()


def _model(request: ExamineRequest) -> Any:
    """A model; of transformers, a model and its tokenizer."""
    from foveate.text.transformers.loading import is_transformer, load_classifier
    from foveate.trust.loading import load_object, load_onnx

    name = request.model or ""
    path, weights = Path(name), None if request.weights is None else Path(request.weights)
    if path.suffix == ".onnx":
        if weights is not None:
            raise FoveateError("--weights is for a module; an ONNX file holds its weights")
        return load_onnx(path)
    if is_transformer(path):
        if weights is not None:
            raise FoveateError("--weights is for a module; the folder holds its weights")
        return load_classifier(path)
    return load_object(name, weights)


def examine_in_process(request: ExamineRequest) -> dict[str, Any]:
    """Examine in a process of its own, whose working directory is this one's.

    Args:
        request: What to examine.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        ended = subprocess.run(
            [sys.executable, "-m", "foveate.jobs.examine_files", str(result)],
            input=json.dumps(asdict(request)), text=True, stdout=STDERR, check=False,
        )  # fmt: skip
        if not result.exists():
            raise FoveateError(
                f"the process that ran {request.model} ended with code {ended.returncode} before "
                "it had a result"
            )
        evidence: dict[str, Any] = json.loads(result.read_text())
    if "error" in evidence:
        raise FoveateError(evidence["error"])
    return evidence


def _main() -> None:
    """The other process: a request on stdin, the result into a file."""
    from foveate.records.record import write_atomically

    request = ExamineRequest(**json.load(sys.stdin))
    evidence: dict[str, Any]
    try:
        evidence = examine_files(request)
    except FoveateError as error:
        evidence = {"error": str(error)}
    text = json.dumps(evidence, allow_nan=False).encode()
    write_atomically(Path(sys.argv[1]), lambda file: file.write(text))


if __name__ == "__main__":
    _main()
