"""Results of runs as tables for the terminal."""
