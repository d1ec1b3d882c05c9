"""Text: tokens, corpora, word statistics, models, probes and their training loop."""
