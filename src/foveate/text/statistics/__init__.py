"""Statistics of words: what co-occurrence tells of texts before anything is trained."""
