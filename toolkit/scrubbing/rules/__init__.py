"""The user's own rules: what to replace in recordings in addition to credentials.

`model` defines the public `Rules` and compiles them. While a message is recorded, `applying` uses them twice: it
collects the values that the rules find, so that they are replaced everywhere, and then replaces the values where it
found them, in URLs, headers, forms, JSON, XML and multipart bodies. `pseudonyms` makes the stand-ins for personal data,
with a key in the user's configuration folder.
"""
