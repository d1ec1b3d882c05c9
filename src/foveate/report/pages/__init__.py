"""Report pages: one module for each kind of page, each a self-contained HTML file."""
