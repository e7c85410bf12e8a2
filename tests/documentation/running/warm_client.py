"""Have a program run by the warm interpreter, with the arguments, folder, variables and streams of this process.

python warm_client.py SOCKET toolkit demo
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence


def call(
    address: str,
    arguments: Sequence[str],
    folder: str,
    variables: Mapping[str, str],
    streams: Sequence[int],
    seconds: float | None = None,
) -> int:
    """Return the status of a program that runs in a fork of the warm interpreter.

    Raises:
        TimeoutError: if the program takes longer; it is killed.
    """
    request = json.dumps({"arguments": arguments, "folder": folder, "variables": dict(variables)})
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
        connection.connect(address)
        data = request.encode() + b"\n"
        connection.sendall(data[socket.send_fds(connection, [data], streams) :])
        return int(connection.recv(16) or b"1")


if __name__ == "__main__":
    sys.exit(call(sys.argv[1], sys.argv[2:], os.getcwd(), os.environ, [0, 1, 2]))  # noqa: PTH109 - pathlib loads slowly
