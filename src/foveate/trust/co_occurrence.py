"""Do evidence segments of two clusters occur together in bags more often than by chance?"""

from statistics import NormalDist

import numpy as np

from foveate.types import Array

__all__ = ["DEVIATIONS", "EXCESS", "SEVERAL_SHARE", "co_occurrence", "word_split"]

SEVERAL_SHARE = 0.15  # share of bags with two evidence segments or more
EXCESS = 0.15  # of bags with both kinds over what one kind would give
DEVIATIONS = 3.0  # standard deviations of that excess
WORDS = 50  # words that are tried, at most


def co_occurrence(cluster: Array, bag: Array) -> tuple[int, float, float, float]:
    """Bags with two evidence segments, share with both clusters, its expectation, deviations.

    Args:
        cluster: 0 or 1 for each evidence segment, shape (N,).
        bag: Its bag, shape (N,).

    Example:
        >>> bags, observed, expected, _ = co_occurrence(np.array([0, 1] * 8), np.arange(16) // 2)
        >>> bags, observed, expected
        (8, 1.0, 0.5)
    """
    _, inverse = np.unique(bag, return_inverse=True)
    n, ones = np.bincount(inverse), np.bincount(inverse, cluster)
    two = n >= 2
    if not two.any():
        return 0, float("nan"), float("nan"), 0.0
    q = float(cluster.mean())
    expected = (1 - q**n - (1 - q) ** n)[two]
    observed = ((ones > 0) & (ones < n))[two]
    spread = np.sqrt((expected * (1 - expected)).sum()) + 1e-9
    z = (observed.sum() - expected.sum()) / spread
    return int(two.sum()), float(observed.mean()), float(expected.mean()), float(z)


def word_split(evidence: Array, bag: Array, words: Array) -> Array:
    """One word and all others as two clusters, 0 for the more frequent one; 0 for all if none is.

    The word is the one that most clearly occurs beside other evidence; since several words are
    tried, the deviation that it needs is that of DEVIATIONS for one trial (Bonferroni).

    Args:
        evidence: Ids of the evidence words of a class, shape (N,).
        bag: Their bags, shape (N,).
        words: Ids of the words to assign, shape (M,).

    Returns:
        The cluster of each, shape (M,).

    Example:
        >>> tagged = np.array([[9, k % 7] for k in range(40)]).ravel()
        >>> word_split(tagged, np.arange(80) // 2, np.array([9, 3])).tolist()
        [0, 1]
    """
    bags = len(np.unique(bag))
    ids, inverse = np.unique(evidence, return_inverse=True)
    pairs = np.unique(np.stack([inverse, bag]), axis=1)[0]
    count = np.bincount(pairs, minlength=len(ids))  # bags that a word is in
    tried = [
        k for k in np.argsort(-count, kind="stable")[:WORDS] if count[k] >= SEVERAL_SHARE * bags
    ]
    best, word = 0.0, None
    for k in tried:
        _, observed, expected, z = co_occurrence((inverse == k).astype(int), bag)
        if observed - expected >= EXCESS and z > best:
            best, word = z, ids[k]
    tail = 1 - NormalDist().cdf(DEVIATIONS)
    if word is None or best < NormalDist().inv_cdf(1 - tail / len(tried)):
        return np.zeros(len(words), int)
    own = words == word
    return np.where(own == (2 * (evidence == word).sum() >= len(evidence)), 0, 1)
