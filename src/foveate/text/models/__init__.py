"""Models that read or write texts."""
