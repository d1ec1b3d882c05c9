"""Charts of runs, and drawings of bags as SVG, for the report pages."""
