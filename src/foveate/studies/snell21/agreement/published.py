"""Numbers from the authors' notebooks, for tables that the paper lacks. [snell21] Tables 1, 4"""

from collections.abc import Mapping

from foveate.records.published import Key, PublishedTable

__all__ = ["AGREEMENT", "COLUMNS", "PERFORMANCE", "PUBLISHED", "RANDOM", "RECORDED", "title"]

COLUMNS: Mapping[str, str] = {
    "alpha_uf": "A(α, β_uf)",
    "uf_px": "A(β_uf, β_px)",
    "delta_uf": "A(Δ, β_uf)",
    "alpha_beta": "A(α, β)",
    "uf_trans": "A(β_uf, Trans)",
    "alpha_alpha": "A(α_A, α_B)",
}
"""Quantities of a table: the paper's four, the count table in place of the proxy, two seeds."""
RANDOM = "random level"
AGREEMENT, PERFORMANCE = "agreement", "accuracy"
"""What the numbers are: agreement with ties as published, and accuracy (of tokens for pairs)."""

RECORDED: Mapping[str, Mapping[str, float]] = {
    "imdb": {"alpha_uf": 0.526, "uf_px": 0.816, "delta_uf": 0.616},
    "sst": {"alpha_uf": 0.199, "uf_px": 0.336, "delta_uf": 0.225},
    "amazon": {"alpha_uf": 0.520, "uf_px": 0.768},
    "multi30k": {"alpha_uf": 0.310, "uf_px": 0.344, "delta_uf": 0.271, "alpha_alpha": 0.775},
    "news-commentary-en-nl": {"alpha_uf": 0.347, "uf_px": 0.391, "alpha_beta": 0.602},
}
"""Numbers of the authors' notebooks, with ties in the paper's form."""
RANDOM_LEVELS = {
    "imdb": 0.056,
    "sst": 0.083,
    "amazon": 0.059,
    "multi30k": 0.071,
    "news-commentary-en-nl": 0.066,
}
CONTEXT = {
    "imdb": (0.868, 0.896),
    "sst": (0.782, 0.835),
    "amazon": (0.825, 0.904),
    "multi30k": (0.434, 0.663),
}
"""ξ(α, β_uf) and ξ* by data set."""

_TITLES = {
    "sst": "SST",
    "newsgroups": "20 Newsgroups",
    "ag_news": "AG News",
    "imdb": "IMDB",
    "amazon": "Amazon",
    "yelp": "Yelp",
    "sms": "SMS",
    "multi30k": "Multi30k",
    "iwslt14": "IWSLT'14",
    "keywords": "keyword toy",
}


def title(name: str) -> str:
    """The name of a data set in figures and tables."""
    return _TITLES.get(name, name)


def _numbers() -> dict[Key, float]:
    numbers: dict[Key, float] = {}
    for data, columns in RECORDED.items():
        for name, value in columns.items():
            numbers[title(data), COLUMNS[name], AGREEMENT] = value
        numbers[title(data), RANDOM, AGREEMENT] = RANDOM_LEVELS[data]
        for name, value in zip(("ξ(α, β_uf)", "ξ*"), CONTEXT.get(data, ()), strict=False):
            numbers[title(data), name, PERFORMANCE] = value
    return numbers


PUBLISHED = PublishedTable(
    "snell21 Tables 1 and 4: agreement of attention with word knowledge",
    "the authors' own notebooks, ties counted as in [snell21] Sec. 3.1; Sec. 3, Tables 1 and 4",
    _numbers(),
)
