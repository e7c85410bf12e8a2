"""How Sphinx makes the site from this folder; the toolkit itself never reads this file.

    sphinx-build -W --keep-going -b html notebooks build/site

Nothing is executed: `toolkit verify` has already run the notebooks. Pages are found by their folder, so that a new page
is a new file. `.site` has the style sheet, and the module that writes the reference from the code.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / ".site"))

import site_pages  # noqa: E402

project = "Service access toolkit"
author = "The service-access-toolkit founders"
language = "en"
extensions = ["myst_nb", "sphinx_copybutton"]
exclude_patterns = [".site", "**/.ipynb_checkpoints", "sweeps"]
nitpicky = True
smartquotes = False  # so that quoted values can be copied

nb_execution_mode = "off"
nb_ipywidgets_js = {}  # a page shows the text of a widget, without scripts of other hosts
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = project
html_static_path = [".site/static"]
html_css_files = ["site.css"]
html_favicon = ".site/static/icon.svg"
html_search_scorer = str(HERE / ".site" / "search.js")
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
copybutton_exclude = ".linenos, .gp, .go"
pygments_style = "tango"
pygments_dark_style = "github-dark"


def setup(app):
    site_pages.setup(app)
