"""Attention: maps from scores to weights, and the paradigms that train and read with them."""
