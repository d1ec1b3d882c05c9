"""Experiments: one file wires data, model, paradigms and training to one figure, table or claim."""

EXPERIMENTS = {
    "race": "Several paradigms on the same bags: accuracy, FT, SAIF and cost (foveate race)",
}
