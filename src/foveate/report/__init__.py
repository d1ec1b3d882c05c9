"""Run directories in, pages and figures out: no model, no torch, no network."""

from foveate.report.pages.race import export_figures, race_page, write_report

__all__ = ["export_figures", "race_page", "write_report"]
