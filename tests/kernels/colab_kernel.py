"""A kernel that differs from ipykernel's as Google Colab's does, as far as outputs are concerned.

After google/colab/_shell.py and output/_widgets.py: tracebacks go out past the shell's own method, `!command` is
written to sys.stdout, and a hook adds the manager of widgets to displays. The tests run with today's IPython; Colab's
own is older.
"""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType, SimpleNamespace

from ipykernel.ipkernel import IPythonKernel
from ipykernel.zmqshell import ZMQInteractiveShell

VIEW = "application/vnd.jupyter.widget-view+json"


class Shell(ZMQInteractiveShell):
    def _showtraceback(self, etype, evalue, stb):
        content = {"traceback": stb, "ename": etype.__name__, "evalue": str(evalue)}
        hook = self.displayhook
        hook.session.send(hook.pub_socket, "error", content, hook.parent_header, ident=b"err")
        self._last_traceback = stb

    def system(self, command):
        command = ["sh", "-c", self.var_expand(command)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        sys.stdout.write(done.stdout + done.stderr)


class Kernel(IPythonKernel):
    shell_class = Shell

    def __init__(self, **options):
        super().__init__(**options)
        output = ModuleType("google.colab.output")
        output._widgets = SimpleNamespace(_installed_url=None)
        output.enable_custom_widget_manager = lambda: enable(output, self.shell.display_pub)
        sys.modules |= {"google": ModuleType("google"), "google.colab": ModuleType("google.colab")}
        sys.modules["google.colab.output"] = output


def enable(output, display_pub):
    output._widgets._installed_url = "https://ssl.gstatic.example/manager.min.js"

    def hook(message):
        content = message.get("content", {})
        if VIEW in content.get("data", {}):
            manager = {"url": output._widgets._installed_url}
            content["metadata"][VIEW] = {"colab": {"custom_widget_manager": manager}}
        return message

    display_pub.register_hook(hook)
