"""The user's own rules: what is replaced in recordings besides credentials.

`model` has the public `Rules` and compiles them. While a message is recorded, `applying` uses them twice: it learns the
values that the rules find, so that they are replaced everywhere, and then replaces the values in their places.
It finds the places in URLs, headers, forms, JSON, XML and multipart bodies. `pseudonyms` makes the stand-ins
for personal data, under a key in the user's configuration folder.
"""
