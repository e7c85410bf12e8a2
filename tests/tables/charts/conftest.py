from __future__ import annotations

import pytest

from toolkit.tables.charts import figure


@pytest.fixture(autouse=True)
def low_resolution(monkeypatch):
    """Draw few dots: no test looks at details."""
    monkeypatch.setattr(figure, "_DPI", 48)


@pytest.fixture
def _no_layout(monkeypatch):
    """Leave out the layout, which takes most of the time, in tests that only ask what is on a chart."""
    monkeypatch.setattr(figure.Chart, "draw_without_rendering", lambda chart: None)
