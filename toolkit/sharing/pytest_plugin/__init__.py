"""The pytest plugin: tests that replay recordings, and notebooks as tests.

`plugin` defines the fixtures, options and hooks. pytest loads it in every run, so it imports other modules only when
they are used. `item_cassette` opens a test's cassette, blocks connections while the test replays, and finishes the
cassette afterwards.
"""
