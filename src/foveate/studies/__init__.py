"""Experiments: one file wires data, model, paradigms and training to one figure, table or claim."""
