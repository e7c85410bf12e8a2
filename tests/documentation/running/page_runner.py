"""Run the blocks of one page in the working directory.

`main` exits with status 1 at the first block that fails, after its place and what went wrong.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import subprocess
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))

from documented_blocks import ROOT, Block, blocks_of

_SECONDS = 120  # for a block of sh


class BlockFailure(Exception):
    """What went wrong in a block."""


def run_page(page: str, loop: asyncio.Runner) -> None:
    """Run the blocks of a page in their order.

    Raises:
        BlockFailure: at the first that fails.
    """
    namespace = types.ModuleType("__main__").__dict__
    sys.modules["__main__"].__dict__.update(namespace)  # what pickles a function finds its module
    runners: dict[str, Callable[[Block], None]] = {
        "python": lambda block: _run_python(block, namespace, loop),
        "ipython": lambda block: _run_ipython(block, namespace),
        "sh": _run_sh,
    }
    for block in blocks_of(ROOT / page):
        if block.reason is not None:
            continue
        if block.file is not None:
            file = Path(block.file)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        if block.kind in runners:
            try:
                runners[block.kind](block)
            except BlockFailure as failure:
                raise BlockFailure(f"{block.place}: {failure}") from None


def _run_python(block: Block, namespace: dict[str, object], loop: asyncio.Runner) -> None:
    try:
        code = compile(block.source, block.page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, namespace)  # noqa: S307 - our own documentation
        if inspect.iscoroutine(result):
            loop.run(_awaited(result))
    except Exception as error:  # noqa: BLE001 - code of a page may raise anything
        lines = "".join(traceback.format_exception(error)[2:])
        raise BlockFailure(f"{error}\n{lines}") from None


async def _awaited(coroutine: object) -> None:
    await coroutine  # type: ignore[misc]


def _run_ipython(block: Block, namespace: dict[str, object]) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    result = InteractiveShell.instance(user_ns=namespace).run_cell(block.text)
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        raise BlockFailure(str(error))


def _run_sh(block: Block) -> None:
    command = ["bash", "-euo", "pipefail", "-c", block.text]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BlockFailure(f"it did not end within {_SECONDS} seconds") from None
    if done.returncode:
        raise BlockFailure(f"status {done.returncode}\n{done.stdout}")


def main() -> None:
    """Run the page that is the program's argument."""
    with asyncio.Runner() as loop:
        try:
            run_page(sys.argv[1], loop)
        except BlockFailure as problem:
            sys.exit(str(problem))


if __name__ == "__main__":
    main()
