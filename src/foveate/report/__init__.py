"""HTML pages and figures of run directories. Needs no model, no torch and no network."""

from foveate.report.pages.race import export_figures, race_page, write_report

__all__ = ["export_figures", "race_page", "write_report"]
