"""A small table of bags, written in any form that is read."""

import csv
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["HEADER", "ROWS", "write"]

HEADER = ["bag", "label", "a", "b", "relevance", "group", "px", "py", "note"]
ROWS = [
    ["s2", "sick", 0.5, 1, 1, "p1", 0, 0, "x"],
    ["s1", "well", -1.25, 2, 0, "p2", 0, 8, "y"],
    ["s2", "sick", 0.1, 3, 0, "p1", 8, 0, "z"],
    ["s3", "sick", 1e-30, 4, "", "p1", 8, 8, "w"],
]


def write(path, header=HEADER, rows=ROWS):
    """The same table in any form; an empty cell is missing."""
    cells = [[None if cell == "" else cell for cell in row] for row in rows]
    if path.name.endswith(".parquet"):
        pq.write_table(
            pa.table(dict(zip(header, map(list, zip(*cells, strict=True)), strict=True))), path
        )
    elif path.name.endswith(".jsonl"):
        lines = [json.dumps(dict(zip(header, row, strict=True))) for row in cells]
        path.write_text("\n".join(lines) + "\n")
    else:
        start = gzip.open if path.suffix == ".gz" else open
        with start(path, "wt", newline="") as file:
            tab = "\t" if path.suffix == ".tsv" else ","
            csv.writer(file, delimiter=tab).writerows([header, *rows])
    return path
