"""User bags: fitting, prediction, explanation and export."""
