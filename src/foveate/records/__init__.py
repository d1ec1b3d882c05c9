"""What a run leaves on disk: records of arrays, checkpoints, run directories."""
