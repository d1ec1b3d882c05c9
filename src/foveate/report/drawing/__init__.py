"""Drawings for the report pages: charts of runs, and bags as SVG."""
