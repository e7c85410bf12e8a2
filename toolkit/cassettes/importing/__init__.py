"""Import what other programs recorded: HAR files of browsers, and cassettes that were recorded without scrubbing.

The original is read and never changed. The result is a cassette like those that are recorded here: scrubbed, checked,
and in vcrpy's format. `import_cassette` takes these steps:

1. `source_files` reads the file within limits, and tells by its content which program wrote it.
2. A reader returns an `Entry` for each exchange: a HAR file is read by `har`, cassettes of Ruby's VCR, R's vcr and
   betamax by `vcr_family`, those of pydantic-ai and go-vcr by `vcrpy_relatives`; vcrpy's own have their reader in
   `format`. What cannot be imported has a reason in place of the exchange (`entries`, `bodies`).
3. `choosing` leaves out what was not asked for.
4. `callers` concludes from the addresses which environment was called.
5. `cleaning` scrubs all exchanges, again if one reveals a secret of another, and checks the result.
6. `report` says what was imported, what was left out, and which kinds of secrets were replaced. It holds no value.
"""
