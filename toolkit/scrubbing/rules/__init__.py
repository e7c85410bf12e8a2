"""The user's own rules: what to replace in recordings in addition to credentials.

`model` defines the public `Rules` and compiles them. While a message is recorded, `applying` replaces the values that
the rules find in URLs, headers, forms, JSON, XML and multipart bodies, and notes the long values, so that they are
replaced everywhere. `pseudonyms` makes the stand-ins for personal data, with a key in the user's configuration folder.
"""
