"""Numbers from arrays alone: no model, no torch. Leading axes (seeds) are carried along."""
