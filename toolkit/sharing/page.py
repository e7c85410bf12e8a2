"""Make a page from a notebook: one HTML file that opens in any browser, loads no resources and runs no scripts.

The page's content security policy forbids loading anything and running scripts. In addition, the notebook's own HTML is
reduced to allowed elements and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from toolkit.core.errors import PublishError

_TEMPLATE: Final = "page_template"
_SHOWN: Final = (
    "text/html",
    "image/svg+xml",
    "image/png",
    "image/jpeg",
    "text/markdown",
    "text/latex",
    "text/plain",
)
_TAGS: Final = frozenset(
    "a abbr b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption figure "
    "h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td "
    "tfoot th thead time tr u ul var wbr".split()
)
_ATTRIBUTES: Final = frozenset(
    "alt aria-label align class colspan dir headers height href id lang open role rowspan scope src start style "
    "tabindex title valign value width".split()
)
_LINKS: Final = re.compile(r"\A(?:https?://|mailto:|#)", re.IGNORECASE)
_PICTURES: Final = re.compile(r"\Adata:image/(?:png|jpeg|gif|webp|svg\+xml)[;,]", re.IGNORECASE)
_SCRIPT: Final = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_SHEET: Final = re.compile(r"<style\b[^<>]*>([^<]*)</style>", re.IGNORECASE)
_EMPTY_HEADER: Final = re.compile(r"<th\b([^<>]*)>\s*</th>")
_UNSAFE_STYLE: Final = re.compile(
    r"url\s*\(|image-set|@import|expression|\\|position\s*:\s*(?:fixed|sticky)", re.IGNORECASE
)


def page_of(
    content: Mapping[str, Any], *, title: str, environments: Iterable[str] = (), with_code: bool = True
) -> bytes:
    """Return a notebook, with its outputs, as an HTML page.

    The footer names `environments`, in which the recordings were made. `title` is used if the notebook has no heading.
    """
    import nbformat
    from markupsafe import Markup
    from nbconvert.exporters import HTMLExporter
    from nbconvert.filters.markdown_mistune import InvalidNotebook
    from traitlets.config import Config

    config = Config()
    config.HTMLExporter.extra_template_basedirs = [str(Path(__file__).parent)]
    config.HTMLExporter.template_name = _TEMPLATE
    config.HTMLExporter.exclude_anchor_links = True
    exporter = HTMLExporter(config=config, filters={"sanitized": sanitized})  # type: ignore[no-untyped-call]
    style = (Path(__file__).parent / _TEMPLATE / "style.css").read_text(encoding="utf-8")
    names = list(environments)
    made = f"Made from recordings of {' and '.join(names)}" if names else "Made from recordings"
    page = {
        "title": heading_of(content) or title,
        "style": Markup(f"<style>\n{style}</style>"),  # noqa: S704 - our own style sheet
        "footer": f"{made}; nothing on this page is live, and the page loads no other files.",
        "with_code": with_code,
        "shown": _SHOWN,
    }
    notebook = nbformat.from_dict(content)  # type: ignore[no-untyped-call]
    try:
        html, _ = exporter.from_notebook_node(notebook, resources={"page": page})
    except InvalidNotebook as error:
        raise PublishError(f"A cell shows a picture that is not attached ({error}).", "Attach it again.") from None
    return f"{html.strip()}\n".encode()


def heading_of(content: Mapping[str, Any]) -> str:
    """Return the text of the notebook's first heading, or ""."""
    for cell in content["cells"]:
        if cell["cell_type"] == "markdown":
            match = re.search(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", cell["source"], re.MULTILINE)
            if match:
                return re.sub(r"[*_`]|\]\([^()]*\)|\[", "", match[1])
    return ""


def sanitized(html: str) -> str:
    """Return only the allowed parts of HTML: no scripts, forms or frames, and nothing from other hosts."""
    from bleach.sanitizer import Cleaner  # type: ignore[import-untyped]

    sheets = [sheet for sheet in _SHEET.findall(html) if not _UNSAFE_STYLE.search(sheet)]  # of pandas' Styler
    text = _EMPTY_HEADER.sub(r"<td\1></td>", _SCRIPT.sub("", html))  # an empty header does not help a screen reader
    styles = SimpleNamespace(sanitize_css=str)  # `_is_allowed` has checked them
    cleaner = Cleaner(
        _TAGS, attributes=_is_allowed, protocols=("http", "https", "mailto", "data"), strip=True, css_sanitizer=styles
    )
    return "".join([*(f"<style>{sheet}</style>" for sheet in sheets), cleaner.clean(text)])


def _is_allowed(tag: str, name: str, value: str) -> bool:
    if name not in _ATTRIBUTES:
        return False
    if name == "href":
        return bool(_LINKS.match(value))
    if name == "src":
        return tag == "img" and bool(_PICTURES.match(value))
    return name != "style" or not _UNSAFE_STYLE.search(value)
