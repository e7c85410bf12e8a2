"""A published page in a browser: it loads nothing, fits a phone, and is easy to read in light and dark."""

from __future__ import annotations

import pytest
from jupyterlab_driver import need_browser
from notebook_files import notebook_with_everything

from toolkit.sharing.page import page_of


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_published_page(chrome, tmp_path, width, scheme):
    """Nothing is requested but the page itself, nothing sticks out at the side, and all texts have enough contrast."""
    need_browser("axe-playwright-python")
    from axe_playwright_python.sync_playwright import Axe

    file = tmp_path / "page.html"
    file.write_bytes(page_of(notebook_with_everything(), title="page", environments=["live"]))
    # Without the policy, so that axe can run and whatever is loaded is seen; the test below is about the policy.
    context = chrome.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True)
    page, requests = context.new_page(), []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    fits = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    response = Axe().run(page).response
    context.close()
    assert fits
    assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]
    problems = [f"{rule['id']}: {node['html']}" for rule in response["violations"] for node in rule["nodes"]]
    assert problems == []
    assert response["passes"]


def test_the_policy_of_a_published_page_forbids_everything(chrome, tmp_path):
    """A script and a picture that got into the page all the same neither run nor load."""
    need_browser()
    html = page_of(notebook_with_everything(), title="page").decode()
    planted = "<script>document.title = 'run'</script><img src='https://evil.example/x.png'>"
    file = tmp_path / "page.html"
    file.write_text(html.replace("<main>", f"<main>{planted}"), encoding="utf-8")
    context = chrome.new_context()
    page, refused = context.new_page(), []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(file.as_uri())
    title = page.title()
    context.close()
    assert title == "A report x & more"
    assert len([text for text in refused if "Content Security Policy" in text]) == 2, refused
