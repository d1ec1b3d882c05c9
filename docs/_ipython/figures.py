"""Charts of the pages are SVG in the appearance of the reports."""

import altair as _altair

_altair.renderers.enable("svg")


@_altair.theme.register("foveate", enable=True)
def _theme() -> _altair.theme.ThemeConfig:
    from foveate.charts.render import theme

    return {"config": theme()}
