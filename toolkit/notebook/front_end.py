"""Front ends that show widgets in a way of their own: VS Code and Google Colab.

Both show every form of an output that they know: words in one output and the widget in the next would stand there
twice. Colab loads widgets that are not its own only after `enable_custom_widget_manager()`, which anywidget calls once
when it makes the first one. VS Code takes a widget's code from the environment of the kernel, or from the sites in its
setting `jupyter.widgetScriptSources`; without either, it shows the words.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping
from enum import StrEnum

from toolkit.local.folders import VS_CODE_NOTEBOOK


class FrontEnd(StrEnum):
    """What shows the notebook, as far as that matters."""

    VS_CODE = "VS Code"
    COLAB = "Colab"
    OTHER = "another"


def front_end(names: Container[str], environ: Mapping[str, str], *, modules: Container[str] = sys.modules) -> FrontEnd:
    """Return what shows the notebook.

    Args:
        names: the variables of the notebook; VS Code sets one in each kernel, wherever that runs.
        environ: the environment variables: those that VS Code gives to kernels on its own machine. A Jupyter server
            that was started from its terminal may pass them on, and names the notebook itself.
        modules: the modules that are loaded; Colab's shell is one of its own.
    """
    if "google.colab" in modules:
        return FrontEnd.COLAB
    if VS_CODE_NOTEBOOK in names or ("VSCODE_PID" in environ and "JPY_SESSION_NAME" not in environ):
        return FrontEnd.VS_CODE
    return FrontEnd.OTHER


def how_to_use(where: FrontEnd, variable: str) -> str:
    """Return what to do where the panel's words are shown in place of its fields.

    Args:
        where: what shows the notebook.
        variable: the name of the panel in the notebook.
    """
    if where is FrontEnd.OTHER:
        return "run this cell again"
    setting = ", or allow widgets in the setting jupyter.widgetScriptSources" if where is FrontEnd.VS_CODE else ""
    return f"run this cell again; if no fields appear, {variable}.connect() asks below the cell{setting}"
