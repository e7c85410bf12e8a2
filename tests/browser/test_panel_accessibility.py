"""The panel is accessible to axe-core and a screen reader in every state, theme and width."""

from __future__ import annotations

import re
import secrets

import pytest
from panel_driver import CONNECTED, PANEL, SERVICE, alert, choose, connect, reveal, status, wait_for_choice

LIGHT, DARK = ("JupyterLab Light", 640), ("JupyterLab Dark", 1200)  # themes, and widths of the page in pixels
# JupyterLab's body has no height, so axe-core takes everything in it for hidden. It does not judge the contrast of
# text on a gradient, which draws the arrow of a dropdown.
JUDGEABLE = "body { height: 100vh } .toolkit-panel select { background-image: none !important }"


@pytest.fixture
def audit(tmp_path):
    """Return a function that audits the panel as it is shown; pictures are in the test's folder."""
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe()

    def audit_one(notebook, state):
        page, panel = notebook.page, notebook.panel
        panel.screenshot(path=tmp_path / f"{state}-{page.viewport_size['width']}.png")
        assert panel.bounding_box()["width"] > 150
        assert panel.evaluate("(panel) => panel.scrollWidth - panel.clientWidth") <= 0
        style = page.add_style_tag(content=JUDGEABLE)
        results = axe.run(page, context={"include": [[".toolkit-panel"]]}, options={}).response
        style.evaluate("(style) => style.remove()")
        findings = [
            f"{kind}: {rule['id']}: {node['html']} {node['failureSummary']}"
            for kind in ("violations", "incomplete")
            for rule in results[kind]
            for node in rule["nodes"]
        ]
        assert findings == [], state
        contrasts = [rule["nodes"] for rule in results["passes"] if rule["id"] == "color-contrast"]
        assert any(node["any"][0]["data"].get("contrastRatio") for node in contrasts[0]), "nothing was judged"

    return audit_one


def show_in(notebook, theme, width):
    """Change the theme and the width of the page."""
    notebook.command("apputils:change-theme", {"theme": theme})
    notebook.page.wait_for_function("(name) => document.body.dataset.jpThemeName === name", arg=theme)
    notebook.page.locator("#jupyterlab-splash").wait_for(state="detached")
    notebook.page.set_viewport_size({"width": width, "height": 1100})


def tree(notebook, *lines):
    """Check roles and names, from top to bottom."""
    from playwright.sync_api import expect

    expect(notebook.panel).to_match_aria_snapshot("\n".join(f"- {line}" for line in lines))


ELSEWHERE = """
from toolkit.core.document import ADDRESS_NAMES

ELSEWHERE = {name: "https://real.example.com" for name in ADDRESS_NAMES}
"""
COLUMNS = "when (UTC) interface path status elapsed token"
CHOICES = 'combobox "Environment"', 'combobox "Mode"', 'combobox "Credentials"'


def test_the_panel_is_accessible_in_every_state(open_notebook, audit):
    """Names, roles, contrast, tables, lists and announcements are accessible in every state."""
    notebook = open_notebook("states.ipynb", SERVICE + ELSEWHERE, PANEL.format("'paper'"))
    notebook.run_all()
    status(notebook, "Not connected.")
    announced = notebook.panel.get_by_role("status").element_handle()
    # Words in a new element would not be announced, so the element must stay.
    for view, *states in (
        (LIGHT, practice, key_pair, client_key, client_secret, refused),
        (DARK, same, connected),
        (LIGHT, same, recording, replaying, closed),
        (DARK, same, practice_ended, real_account, restarted),
    ):
        show_in(notebook, *view)
        for state in states:
            state(notebook)
            audit(notebook, state.__name__)
    assert announced.inner_text().startswith("This panel belongs to an earlier kernel.")
    assert re.findall("combobox|textbox|button", notebook.panel.aria_snapshot()) == []


def same(notebook):
    """Check the last state in another theme and width."""


def key_pair(notebook):
    choose(notebook, "Credentials", "new key pair …")
    texts = 'textbox "Key ID"', 'textbox "Secret key"', "group: More options"
    tree(notebook, *CHOICES, *texts, 'button "Connect"', "status: Not connected.")


def practice(notebook):
    choose(notebook, "Credentials", "paper · practice service")
    tree(notebook, 'combobox "Environment"', "text: /practice/", 'combobox "Mode"', 'combobox "Credentials"')


def client_key(notebook):
    choose(notebook, "Environment", "broker-sandbox · sandbox broker partner")
    wait_for_choice(notebook, "Credentials", "sandbox-secret · practice service")
    choose(notebook, "Credentials", "new client key …")
    notebook.panel.get_by_text("More options").click()
    key = 'textbox "Private key"', 'button "Private key file"', 'textbox "Passphrase"'
    options = 'textbox "Key ID"', 'combobox "Algorithm"', 'textbox "Audience"', 'textbox "Scope"'
    group = "\n".join(["group:", *(f"  - {line}" for line in ("text: /More options/", *options))])
    tree(notebook, *CHOICES, 'textbox "Client ID"', *key, group, 'button "Connect"', "status: Not connected.")


def client_secret(notebook):
    choose(notebook, "Credentials", "new client secret …")
    fields = 'textbox "Client ID"', 'textbox "Client secret"', "group"
    tree(notebook, *CHOICES, *fields, 'button "Connect"', "status: Not connected.")


def refused(notebook):
    """Check a refused secret: the words follow its field and describe it."""
    notebook.panel.get_by_label("Client ID").fill("practice-sandbox-secret")
    notebook.panel.get_by_label("Client secret").fill(secrets.token_hex(20))
    connect(notebook)
    tree(
        notebook,
        'textbox "Client secret" [invalid]',
        "alert: /The token endpoint refused the credentials. status 401/",
        'button "Connect"',
        "status: Not connected.",
    )
    field = notebook.panel.get_by_label("Client secret")
    described = field.evaluate("(input) => document.getElementById(input.getAttribute('aria-describedby')).textContent")
    assert described == notebook.panel.get_by_role("alert").inner_text()


def connected(notebook):
    """Check a connected panel, with a failed call among the last calls."""
    accepted = reveal(notebook, "service.credentials['sandbox-secret'].client_secret.reveal()")
    notebook.panel.get_by_label("Client secret").fill(accepted)
    connect(notebook)
    status(notebook, CONNECTED)
    notebook.kernel("panel.session.accounts(); panel.session.broker.get('/nothing'); panel._after_cell(None)")
    tree(
        notebook,
        *CHOICES,
        'button "Connect"',
        'textbox "Save as"',
        'button "Save"',
        f"status: /{CONNECTED}/",
        "term: You are",
        "definition: default · client secret · sandbox broker partner",
        "term: Token",
        'definition:\n  - progressbar "Remaining lifetime of the token"',
        f'region "Last calls":\n  - table:\n    - rowgroup:\n      - row "{COLUMNS}"',
    )


def recording(notebook):
    choose(notebook, "Mode", "record · call and keep the responses")
    tree(notebook, 'combobox "Mode"', 'combobox "Cassette"', 'textbox "Name"', 'combobox "Credentials"')


def replaying(notebook):
    choose(notebook, "Mode", "replay · nothing is sent")
    notebook.panel.get_by_label("Name", exact=True).wait_for(state="hidden")
    connect(notebook)
    status(notebook, "Replaying tour.yaml.")
    notebook.kernel("panel.session.accounts(); panel._after_cell(None)")
    notebook.panel.get_by_text("left at the end of the last call").wait_for()
    tree(notebook, 'combobox "Mode"', 'combobox "Cassette"', 'button "Connect"', "status: /Replaying tour.yaml/")


def closed(notebook):
    notebook.kernel("panel.session.close(); panel._after_cell(None)")
    tree(notebook, 'button "Connect"', "status: /This session is closed/", "term: Session")


def practice_ended(notebook):
    choose(notebook, "Mode", "call the service")
    choose(notebook, "Environment", "broker-live · live broker partner")
    notebook.panel.get_by_text("practice", exact=True).first.wait_for()
    notebook.kernel("service.close(); panel._after_cell(None)")
    alert(notebook, "The practice service at these addresses has stopped.")
    tree(notebook, *CHOICES, "alert", 'button "Connect"')


def real_account(notebook):
    notebook.kernel("panel._form._own_settings = tk.Settings(ELSEWHERE); panel._after_cell(None)")
    choose(notebook, "Environment", "live · live account")
    notebook.panel.get_by_label("Secret key").wait_for()
    tree(notebook, 'combobox "Environment"', "text: /real account/", 'combobox "Mode"')


def restarted(notebook):
    notebook.restart_kernel()
    status(notebook, "This panel belongs to an earlier kernel.")
