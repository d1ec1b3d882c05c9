"""IBM Model 1 on Multi30k, five iterations: foveate, NLTK and fast_align (systran-align).

Needs the folder FOVEATE_DATA with multi30k. Words are runs of letters and digits, or single marks,
in lower case. NLTK is timed on a slice and extrapolated by the number of cells (t, l), on which its
loop spends its time; the slice leaves out pairs whose target repeats a word, which NLTK counts once
only. fast_align is set to a uniform prior over positions and no NULL, which makes it Model 1; it
learns both directions in one call and writes its tables to files, so it is compared with both
directions of foveate. All times are CPU seconds. The ratio is the other's time over foveate's.
"""

import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nltk.translate
import pyarrow.parquet as pq
import systran_align

import measuring
from foveate.text.statistics.ibm1 import fit_ibm1
from foveate.text.tokens import Tokens, Vocabulary

ITERATIONS, SLICE = 5, 10_000  # NLTK takes longer per cell the more words it knows
WORD = re.compile(r"\w+|[^\w\s]")


def words(column: str) -> list[list[str]]:
    path = Path(os.environ["FOVEATE_DATA"]) / "multi30k" / "train-00000-of-00001.parquet"
    texts = pq.read_table(path, columns=[column])[column].to_pylist()
    return [WORD.findall(text.lower()) for text in texts]


def encode(texts: list[list[str]]) -> tuple[Tokens, Vocabulary]:
    vocabulary = Vocabulary.of(texts)
    return Tokens.of(vocabulary.encode(text) for text in texts), vocabulary


def seconds(work: Callable[[], object], times: int) -> float:
    spent = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def against_nltk(source: list[list[str]], target: list[list[str]]) -> dict[str, Any]:
    plain = [(x, y) for x, y in zip(source, target, strict=True) if len(set(y)) == len(y)][:SLICE]
    corpus = [nltk.translate.AlignedSent(y, x) for x, y in plain]
    models = []
    slow = seconds(lambda: models.append(nltk.translate.IBMModel1(corpus, ITERATIONS)), 1)
    (x, of_x), (y, of_y) = (encode([pair[k] for pair in plain]) for k in (0, 1))
    table = fit_ibm1(x, y, (len(of_x), len(of_y)), iterations=ITERATIONS, null=True).table.tocoo()
    gap = max(
        abs(value - models[0].translation_table[of_y.words[o]][names[i]])
        for names in [[*of_x.words, None]]
        for i, o, value in zip(*table.coords, table.data, strict=True)
    )
    (x, _), (y, _) = encode(source), encode(target)
    quick = seconds(lambda: fit_ibm1(x, y, iterations=ITERATIONS, null=True), 3)
    share = sum(len(b) * (len(a) + 1) for a, b in zip(source, target, strict=True)) / sum(
        len(b) * (len(a) + 1) for a, b in plain
    )
    return {
        "ratio": slow * share / quick,
        "seconds": {"foveate": quick, "NLTK, extrapolated": slow * share},
        "largest_difference": gap,
    }


def against_fast_align(source: list[list[str]], target: list[list[str]]) -> dict[str, Any]:
    (x, _), (y, _) = encode(source), encode(target)
    both = ((x, y), (y, x))
    quick = seconds(lambda: [fit_ibm1(*pair, iterations=ITERATIONS) for pair in both], 3)
    lines = (f"{' '.join(a)} ||| {' '.join(b)}\n" for a, b in zip(source, target, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        corpus, forward, backward = (str(Path(folder) / name) for name in ("text", "to", "from"))
        Path(corpus).write_text("".join(lines))
        slow = seconds(
            lambda: systran_align.generate_alignment_probabilities(
                corpus,
                forward,
                backward,
                iterations=ITERATIONS,
                favor_diagonal=False,
                no_null_word=True,
            ),
            3,
        )
    return {"ratio": slow / quick, "seconds": {"foveate": quick, "fast_align": slow}}


if __name__ == "__main__":
    arguments = measuring.parser(__doc__)
    arguments.add_argument("--against", choices=("nltk", "fast_align"), default="fast_align")
    options = arguments.parse_args()
    compare = against_nltk if options.against == "nltk" else against_fast_align
    measuring.finish("IBM Model 1, Multi30k", compare(words("en"), words("de")), options.json)
