"""Sweeps into addresses of fsspec, here its file system in memory."""

from __future__ import annotations

import secrets

import pandas as pd
import pytest

import toolkit as tk
from toolkit.sweeps.folder import place_of


def test_a_sweep_into_an_address_is_resumed(service, settings, make_credentials):
    """Parts and failures are written, read, and gone on with; pandas reads the folder."""
    address = f"memory://sweeps/{secrets.token_hex(4)}"
    statuses = {"b": 404, "c": 503}
    service.answer = lambda request: service.reply([{"n": 1}], statuses.get(request.url.path[-1], 200))
    session = tk.Session(
        credentials=make_credentials("broker-sandbox"), settings=settings, transport=service, retry=False
    )
    tk.sweep(session.broker, "a b c".split(), lambda key: f"/v1/{key}", into=address)
    service.answer = lambda request: service.reply([{"n": 2.5}])
    result = tk.sweep(session.broker, "a b c d".split(), lambda key: f"/v1/{key}", into=address)
    assert result.table().to_dict("list") == {"key": ["a", "c", "d"], "n": [1.0, 2.5, 2.5]}
    assert result.failures()["key"].tolist() == ["b"]
    assert sorted(pd.read_parquet(address)["key"]) == ["a", "c", "d"]


def test_addresses_that_cannot_be_opened(tmp_path):
    """An unknown address says so; a local one is a local folder, with a lock."""
    for address in ("nothing-like-this://bucket/a", "memory://"):
        with pytest.raises(tk.ConfigurationError) as caught:
            place_of(address)
        assert caught.value.about == "into"
    with place_of(f"file://{tmp_path}/positions").locked():
        assert (tmp_path / "positions.sweep" / "lock").exists()
    (tmp_path / "file").touch()
    with pytest.raises(tk.SweepError, match="Cannot write"), place_of(tmp_path / "file" / "positions").locked():
        pass
