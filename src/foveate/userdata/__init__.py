"""A user's own bags: fitted, predicted, explained and exported."""
