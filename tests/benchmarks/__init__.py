"""Benchmarks: figures for the toolkit and its peers, measured side by side in one run.

Run one from the checkout, such as `python -m tests.benchmarks.calls`. They compare and assert no times, since machines
differ; each docstring names the target. With `--quick` a benchmark does as little as it can, which shows that it runs
but gives no figures worth quoting.
"""
