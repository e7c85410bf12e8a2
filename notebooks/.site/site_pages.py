"""Additions to a page of the site: its generated part, its navigation, and links to other pages of the site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reference import filled, section_of

NOTEBOOKS = Path(__file__).resolve().parents[1]
DOORS = {"Tutorials": "0*", "How-to": "how-to/*", "Explanation": "explanation/*", "Reference": "reference/*"}
LAST = "reference/changelog"
# Files outside the folder that pages link to, and the page of the site that has their text.
OUTSIDE = {"README.md": "index.md", "CHANGELOG.md": "reference/changelog.md"}
OPEN_AT_START = ("Tutorials", "How-to: start", "How-to: trouble")
_LINK = re.compile(r"\]\(((?:\.\./)+)([\w./-]+)(#[\w-]+)?\)")
# Words that a page does not have and readers search for: `<!-- search: redact, anonymize -->`.
_SEARCHED = re.compile(r"<!-- search: (.*?) -->", re.DOTALL)


def site_text(page: str, text: str) -> str:
    """Return the text of a page as the site shows it; `page` is its name below the folder, without suffix."""
    text = filled(_LINK.sub(lambda link: _inside(page, link), text))
    if page == "index":
        text += "\n".join(navigation(text))
    return text


def navigation(start: str) -> Iterator[str]:
    """Yield the lines of the navigation: a tree for each kind of page, in the order of the links on the start page.

    How-to pages have a tree for each heading of the start page; the first heading that links a page has it.
    """
    linked = pages_linked(start)
    for caption, pattern in DOORS.items():
        pages = sorted(path.relative_to(NOTEBOOKS).with_suffix("").as_posix() for path in NOTEBOOKS.glob(pattern))
        if caption == "Tutorials":
            yield _tree(caption, pages)
            continue
        pages.sort(key=lambda page: (page == LAST, linked.index(page) if page in linked else len(linked)))
        if caption != "How-to":
            yield _tree(caption, pages)
            continue
        for part in re.split(r"^### ", start, flags=re.MULTILINE)[1:]:
            heading, under = part.partition("\n")[0], pages_linked(part)
            group = sorted((page for page in pages if page in under), key=under.index)
            pages = [page for page in pages if page not in group]
            if group:
                yield _tree(f"{caption}: {heading[0].lower()}{heading[1:]}", group)
        if pages:
            yield _tree(caption, pages)


def pages_linked(text: str) -> list[str]:
    """Return the pages that a text of the start page links, in its order, without suffix."""
    return re.findall(r"\]\(([\w/-]+)\.(?:md|ipynb)\b", text)


def _tree(caption: str, pages: list[str]) -> str:
    listed = "\n".join(pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```"


def collapsed(tree: str) -> str:
    """Return the theme's navigation with each group as an element that opens; the group of the shown page is open."""
    first, *groups = re.split(r'(?=<p class="caption")', tree)
    is_start = not any('class="current' in group for group in groups)
    out = [first]
    for group in groups:
        caption, _, pages = group.partition("</p>")
        title = re.sub(r"<[^>]*>", "", caption)
        is_open = 'class="current' in group or (is_start and title in OPEN_AT_START)
        summary = f'<summary class="caption"><span class="caption-text">{title}</span></summary>'
        out.append(f'<details class="group"{" open" if is_open else ""}>{summary}{pages}</details>')
    return "".join(out)


def _inside(page: str, link: re.Match[str]) -> str:
    """Return a link to a file above the folder as one to the page that has its text."""
    depth = page.count("/")
    target = OUTSIDE.get(link[2])
    if target is None or link[1].count("../") != depth + 1:
        return link[0]
    return f"]({'../' * depth}{target}{link[3] or ''})"


def _stands_in(node: Any, anchor: str) -> bool:
    """Check whether a node is in the section with this anchor."""
    while node is not None:
        if anchor in node.get("ids", ()):
            return True
        node = node.parent
    return False


def add_searched_words(tree: Any) -> None:
    """Replace a page's comment with search words with keywords that Sphinx puts into its index."""
    from docutils import nodes

    for comment in list(tree.findall(nodes.raw)):
        searched = _SEARCHED.search(comment.astext())
        if searched:
            words = ",".join(re.findall(r"\w+", searched[1]))
            comment.replace_self(nodes.meta(name="keywords", content=words))


def setup(app: Any) -> None:
    """Let Sphinx read every page through `site_text`, and link inline code to its section of the reference."""
    from docutils import nodes
    from sphinx.search.en import SearchEnglish

    class Search(SearchEnglish):
        """The search in English, which finds numbers as well: 401, 599, 20000."""

        def word_filter(self, word: str) -> bool:
            return len(word) >= 3 if word.isdigit() else super().word_filter(word)

    def read(_app: Any, page: str, source: list[str]) -> None:
        source[0] = site_text(page, source[0])

    def link(_app: Any, tree: Any, page: str) -> None:
        for code in list(tree.findall(nodes.literal)):
            target = section_of(code.astext())
            if target is None or isinstance(code.parent, nodes.reference | nodes.title | nodes.term):
                continue
            aim, heading = f"reference/{target[0]}", nodes.make_id(target[1])
            if aim != page or not _stands_in(code, heading):
                uri = f"{_app.builder.get_relative_uri(page, aim)}#{heading}"
                code.replace_self(nodes.reference("", "", code.deepcopy(), internal=True, refuri=uri))

    def collapse(_app: Any, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
        context["furo_navigation_tree"] = collapsed(context.get("furo_navigation_tree", ""))

    app.add_search_language(Search)
    app.connect("html-page-context", collapse, priority=900)  # after the theme
    app.connect("source-read", read)
    app.connect("doctree-read", lambda _app, tree: add_searched_words(tree))
    app.connect("doctree-resolved", link)
