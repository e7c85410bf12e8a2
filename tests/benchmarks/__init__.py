"""Figures, printed side by side with a peer in one run. Nothing here asserts: machines differ.

Run one as `python -m tests.benchmarks.calls` from the checkout.
"""
