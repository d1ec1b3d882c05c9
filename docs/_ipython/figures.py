"""Charts of the pages are SVG in the appearance of the reports."""

import altair as _altair

from foveate.charts.render import theme as _theme

_altair.renderers.enable("svg")


@_altair.theme.register("foveate", enable=True)
def _foveate() -> _altair.theme.ThemeConfig:
    return {"config": _theme()}
