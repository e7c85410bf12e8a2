"""The pytest plugin: tests that replay recordings, and notebooks as tests.

`plugin` has the fixtures, options and hooks; pytest loads it in every run, so it imports the rest when used.
`item_cassette` opens the cassette of a test, refuses connections while it replays, and finishes it after the test.
"""
