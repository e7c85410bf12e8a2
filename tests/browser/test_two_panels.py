"""Two panels of one notebook: the session of each gets the secrets that were chosen or typed in it, and no others.

The practice service says which credentials made each call and what they sent.
"""

from __future__ import annotations

import json

from panel_driver import CONNECTED, SERVICE, TwoPanels, private_key, reveal

SAVED = """
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # this machine has no keyring
    for name, credentials in service.credentials.items():
        tk.save_credentials(credentials, f"saved-{name}", settings=settings)
"""
PANELS = "a = tk.panel(settings=settings)\na", "b = tk.panel(settings=settings)\nb"
OFFERED = {
    "live": "saved-live ·",
    "paper": "saved-paper ·",
    "broker-live": "saved-broker-key ·",
    "broker-sandbox": "saved-sandbox-key ·",
}
CALL = """
import json

service.stats.reset()
{panel}.session.market_data.get("/v2/practice/quotes")
{panel}.session.accounts()
print(json.dumps([service.stats.by_credentials, getattr({panel}.session.credentials, "scheme", "token")]))
"""


def typed(notebook, name, *, scheme=""):
    """Return what to choose and type for practice credentials: the choice, the texts by label, and the options."""
    held = f"service.credentials[{name!r}]"
    kind = reveal(notebook, f"{held}.kind")
    if kind == "key pair":
        pair = reveal(notebook, f"{held}.key_id.reveal()"), reveal(notebook, f"{held}.secret_key.reveal()")
        return f"new {kind} …", dict(zip(("Key ID", "Secret key"), pair, strict=True)), {"Scheme": scheme}
    texts = {"Client ID": reveal(notebook, f"{held}.client_id")}
    if kind == "client secret":
        texts["Client secret"] = reveal(notebook, f"{held}.client_secret.reveal()")
        return f"new {kind} …", texts, {"Scope": "accounts.read"}
    texts["Private key"] = private_key(notebook, name)
    key_id, algorithm = (reveal(notebook, f"{held}.{part}") for part in ("key_id", "algorithm"))
    return f"new {kind} …", texts, {"Key ID": key_id, "Algorithm": algorithm, "Audience": "issuer"}


def saved(notebook, name):
    """Return what to choose for saved credentials; nothing is typed."""
    return f"saved-{name} · ", {}, {}


def test_each_session_gets_its_own_secret(open_notebook):
    """In every environment and with every kind, typed and saved, by turns: the calls of each panel are its own."""
    notebook = open_notebook("two-panels.ipynb", SERVICE + SAVED, *PANELS)
    notebook.run_all()
    panels = TwoPanels(notebook)
    rounds = [
        ("a", "live", typed(notebook, "live", scheme="HTTP Basic"), ("live", "basic")),
        ("b", "live", typed(notebook, "live-2"), ("live-2", "headers")),
        ("a", "paper", saved(notebook, "paper"), ("paper", "headers")),
        ("b", "paper", typed(notebook, "paper-2", scheme="HTTP Basic"), ("paper-2", "basic")),
        ("a", "broker-live", typed(notebook, "broker-secret"), ("broker-secret", "token")),
        ("b", "broker-live", typed(notebook, "broker-key"), ("broker-key", "token")),
        ("a", "broker-sandbox", typed(notebook, "sandbox-key"), ("sandbox-key", "token")),
        ("b", "broker-sandbox", saved(notebook, "sandbox-secret"), ("sandbox-secret", "token")),
        ("a", "broker-live", saved(notebook, "broker-key"), ("broker-key", "token")),
        ("b", "live", saved(notebook, "live"), ("live", "headers")),
    ]
    expected = {}
    for panel, environment, choice, caller in rounds:
        panels.connect(panel, environment, OFFERED[environment], *choice)
        expected[panel] = caller
        for name, (own, scheme) in expected.items():
            assert json.loads(notebook.kernel(CALL.format(panel=name))) == [{own: 2}, scheme], (panel, name)
    panels.status("a", CONNECTED)
    panels.status("b", CONNECTED)
    assert panels.fields() == {"a": 0, "b": 0}
