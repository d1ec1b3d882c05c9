"""Studies of lu21: topic words."""
