"""A Dask cluster in processes of its own, and a practice service whose tokens last four seconds."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed import Client

import toolkit as tk

TESTS = Path(__file__).parents[1]
WORKERS = 2
VALIDITY = 4


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Return the client of a scheduler process and its worker processes."""
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    command = [sys.executable, "-m"]
    scheduler = [*command, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    workers = [*command, "distributed.cli.dask_worker", "--nworkers", str(WORKERS), "--nthreads", "2"]
    options = ["--scheduler-file", str(file), "--no-dashboard"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}  # they import the modules of tests
    with (folder / "log.txt").open("wb") as log:
        processes = [
            subprocess.Popen([*program, *options], cwd=folder, stdout=log, stderr=log, env=environment)
            for program in (scheduler, workers)
        ]
        try:
            with Client(scheduler_file=str(file), timeout=120) as client:
                client.scheduler_pid = processes[0].pid
                client.wait_for_workers(WORKERS, timeout=120)
                yield client
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait(30)


@pytest.fixture
def service(monkeypatch):
    """Return a running practice service."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    with tk.practice(accounts=3, token_validity=VALIDITY) as service:
        yield service


@pytest.fixture
def session(service):
    """Return a session of a broker partner with a client secret."""
    with tk.Session(credentials=service.credentials["sandbox-secret"], settings=service.settings) as session:
        yield session


def renewals_due(seconds):
    """Return how many tokens are needed in some seconds, the first included."""
    lifetime = VALIDITY - 1  # "slightly under" the validity, in whole seconds
    return 1 + int(seconds / (lifetime - 0.1 * lifetime))


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self):
        self._start = time.monotonic()

    @property
    def seconds(self):
        return time.monotonic() - self._start
