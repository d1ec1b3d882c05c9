"""Training: one loop for many seeds at once, its schedule, memory limits and evaluation."""
