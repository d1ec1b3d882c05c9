"""Charts: one palette, one theme, SVG and PNG without a browser."""
