"""Plot one or several records."""

from collections.abc import Mapping
from typing import Any

from foveate.records.record import Record

__all__ = ["plot"]


def plot(records: Record | Mapping[str, Record]) -> Any:
    """Accuracy, FT, SAIF and training loss over the epochs, with 95 % intervals over seeds.

    Args:
        records: A record, or one per paradigm by name.

    Returns:
        An Altair chart: displayed by notebooks, written by ``chart.save("figure.svg")``.

    Example:
        >>> import numpy as np
        >>> accuracy = np.array([[0.4, 0.5], [0.8, 0.9]])
        >>> chart = plot(Record(np.arange(2), {"accuracy": accuracy}))
        >>> len(chart.hconcat)
        1
    """
    import altair as alt

    from foveate.charts.render import theme
    from foveate.report.drawing.curves import curve_chart, curve_names

    named = {"record": records} if isinstance(records, Record) else dict(records)
    names = [k for k in curve_names() if all(k in record.values for record in named.values())]
    chart = alt.hconcat(*(curve_chart(named, name) for name in names))
    return chart.properties(config=alt.Config(**theme()))
