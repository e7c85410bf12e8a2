"""The pytest plugin: tests that replay recordings, and notebooks as tests.

`plugin` has the fixtures, options and hooks; pytest loads it in every run, so it imports the rest when used.
`item_cassette` opens the cassettes of a test and finishes them after it, and `blocking` refuses connections while it
replays. `run_options` lists cassettes that no test opened, and collects notebooks.
"""
