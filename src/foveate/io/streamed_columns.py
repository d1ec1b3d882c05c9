"""Columns of one value a row in Parquet tables that do not fit into memory, read one at a time."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foveate.errors import FoveateError
from foveate.io.cell_forms import form_of
from foveate.io.cells import is_missing
from foveate.io.columns import Roles
from foveate.io.number_columns import MOST_TEXTS, LeftOut, left_out_texts
from foveate.io.parquet import (
    chunk_metadata,
    is_list,
    is_numeric,
    number_rows,
    whole_parquet,
)
from foveate.io.rows import where
from foveate.types import FloatArray

__all__ = ["ColumnReader"]

ROWS = 2**16  # rows that are read at a time


class ColumnReader:
    """Reads columns of Parquet files of one layout, each on its own.

    Args:
        files: The files.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        self.schemas = []
        for file in files:
            with whole_parquet(file) as opened:
                self.schemas.append(opened.schema_arrow)

    def features(self, chosen: Roles, named: set[str]) -> tuple[Roles, dict[str, LeftOut]]:
        """The roles with the columns that hold numbers, and why others are no features.

        Args:
            chosen: The roles; their segment holds all columns without another role.
            named: Columns that the user or a trained model names.
        """
        left_out = {}
        for name in chosen.segment:
            kind = self.schemas[0].field(name).type
            if self._of_numbers(name):
                if name not in named and self._is_null(name):
                    left_out[name] = LeftOut("every cell is missing")
                continue
            if name in named:
                raise FoveateError(
                    f"{self.files[0]}, column '{name}': must hold numbers or lists of them in a "
                    f"table larger than memory, got {kind}"
                )
            left_out[name] = self._texts(name, kind)
        segment = tuple(name for name in chosen.segment if name not in left_out)
        return chosen._replace(segment=segment), left_out

    def _of_numbers(self, name: str) -> bool:
        """Whether a column holds numbers, or lists of them, which all files must agree on."""
        kinds = [schema.field(name).type for schema in self.schemas]
        held = [is_numeric(kind.value_type if is_list(kind) else kind) for kind in kinds]
        lists = [is_list(kind) for kind in kinds]
        for file, kind, number, of_lists in zip(self.files, kinds, held, lists, strict=True):
            if (number, of_lists) != (held[0], lists[0]):
                raise FoveateError(
                    f"{file}, column '{name}': must be {kinds[0]} as in {self.files[0]}, got {kind}"
                )
        return held[0]

    def _is_null(self, name: str) -> bool:
        """Whether no cell of a column holds a value, by the files' metadata."""
        for path in self.files:
            with whole_parquet(path) as file:
                metadata = file.metadata
                paths = [metadata.schema.column(k).path for k in range(metadata.num_columns)]
                if name not in paths:  # of lists
                    return False
                for group in range(metadata.num_row_groups):
                    chunk = chunk_metadata(file, group, paths.index(name))
                    rows = metadata.row_group(group).num_rows
                    if chunk.statistics is None or chunk.statistics.null_count != rows:
                        return False
        return True

    def whole_numbers(self, names: Iterable[str]) -> Iterator[tuple[str, FloatArray]]:
        """Those columns that hold single whole numbers, each shape (N, 1), NaN where missing.

        Args:
            names: Columns of numbers, or of lists of them.
        """
        for name in names:
            parts: list[FloatArray] = []
            for file, first, batch in self._batches(name):
                location = lambda row, f=file, k=first: f"{where(f, k + row + 1)}, column '{name}'"  # noqa: B023, E731
                values = number_rows(batch.column(name), location)
                present = values[~np.isnan(values)]
                if values.shape[1] > 1 or (present != np.floor(present)).any():
                    break
                parts.append(values)
            else:
                yield name, np.concatenate(parts)

    def _batches(self, name: str) -> Iterator[tuple[Path, int, Any]]:
        """File, first row and cells of every batch of one column."""
        for file in self.files:
            first = 0
            with whole_parquet(file) as opened:
                for batch in opened.iter_batches(batch_size=ROWS, columns=[name]):
                    yield file, first, batch
                    first += len(batch)

    def _texts(self, name: str, kind: Any) -> LeftOut:
        """Why a column that is not of numbers is left out, with a code for the text of each row."""
        from pyarrow import ArrowException, types

        if types.is_nested(kind):
            return LeftOut(f"{kind}, in a table larger than memory")
        codes: dict[Any, int] = {}
        counts: Counter[str] = Counter()
        example, parts = None, []
        for file, first, batch in self._batches(name):
            try:
                encoded = _encoded(batch.column(name))
                cells = encoded.dictionary.to_pylist()
            except (ArrowException, UnicodeDecodeError):
                at = f"{where(file, first + 1)} or later, column '{name}'"
                raise FoveateError(f"{at}: must be UTF-8") from None
            rows = _indices(encoded)
            forms = [_form(cell, kind) for cell in cells]
            for form, count in zip(
                forms, np.bincount(rows, minlength=len(cells) + 1), strict=False
            ):
                counts[form] += int(count)
            texts = [k for k, form in enumerate(forms) if form in ("text", "time")]
            example = cells[texts[0]] if example is None and texts else example
            if len(codes) < MOST_TEXTS:
                known = np.full(len(cells) + 1, np.nan)
                known[texts] = [codes.setdefault(cells[k], len(codes)) for k in texts]
                parts.append(known[rows])
        return self._reason(name, counts, example, parts if len(codes) < MOST_TEXTS else [])

    def _reason(
        self, name: str, counts: Counter[str], example: Any, parts: Sequence[FloatArray]
    ) -> LeftOut:
        others = counts["text"] + counts["time"]
        numbers = counts.total() - others - counts["missing"]
        if not numbers and not others:
            return LeftOut("every cell is missing")
        if numbers > others:
            raise FoveateError(
                f"{self.files[0]}, column '{name}': holds numbers as texts, which are not read in "
                "a table larger than memory: store them as numbers, or name other columns with "
                "--segment"
            )
        what = "times or dates" if counts["time"] > counts["text"] else "texts"
        codes = np.concatenate(parts) if parts and not numbers else None
        return left_out_texts(what, str(example), codes, numbers, counts.total())


def _encoded(column: Any) -> Any:
    """A column as numbers of its distinct cells."""
    from pyarrow import types

    return column if types.is_dictionary(column.type) else column.dictionary_encode()


def _indices(encoded: Any) -> NDArray[np.int64]:
    """The number of the cell of each row, len(cells) where it is null, shape (n,)."""
    indices = encoded.indices.fill_null(len(encoded.dictionary))
    return np.asarray(indices.to_numpy(zero_copy_only=False), np.int64)


def _form(cell: Any, kind: Any) -> str:
    """What a cell holds."""
    from pyarrow import types

    if is_missing(cell):
        return "missing"
    if types.is_temporal(kind):
        return "time"
    return "text" if isinstance(cell, bytes) else form_of(cell)[0]
