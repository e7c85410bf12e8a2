"""The pytest plugin: tests that replay recordings, and notebooks as tests.

A test that asks for `toolkit_session` or `toolkit_cassette`, or has the marker of that name, runs like this:

1. `plugin` has the fixtures, options and hooks; pytest loads it in every run, so it imports nothing else at first;
2. `item_cassette` puts together what the markers of the test choose (`marks`), which file the cassette is (`places`)
   and the options;
3. `playing` opens it, strict and in replay unless `--toolkit-record` says otherwise;
4. `blocking` refuses connections while the test replays;
5. after the test, `playing` looks for unplayed interactions and secrets. A new recording replaces the old one only if
   the test passed; that of a failed test is kept aside.

`notes` collects what the processes of a run report, `unused` lists cassettes that no test opened
(`--toolkit-unused`), and `notebook_items` collects notebooks (`--toolkit-verify`).
"""
