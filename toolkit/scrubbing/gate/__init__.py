"""The gate before the disk: it decodes what is about to be written, and refuses it if a known secret comes to light.

The replacement writes a secret in each code and looks for the result. The gate works the other way round: it decodes
the bytes and looks for the plain secret. So an error in one is caught by the other; they share only the register of
secrets.

1. `patterns` says what to look for: each secret in normal form (letters and digits only, in lower case), the bytes
   behind a secret that is hex or base64 itself, and the lines of a private key. `windows` finds any number of patterns
   in one pass.
2. `checking` takes the bytes through layers. It looks for the patterns, decodes the bytes in every way, and does the
   same with each result, up to `DEEPEST` layers below the bytes themselves.
3. The decoders stand in three modules, and in the table at the end of `decoders`. A new encoding of text (such as
   base64) goes into `text_codes`, one of escapes (such as percent) into `escapes`, a compression format or an archive
   into `compression`, and a format of documents (such as PDF) into `documents`.
4. `budget` bounds the work by the bytes that decoding takes and gives, never by the clock. What is too large or too
   deep to check is refused too. Opaque data, such as encrypted entries of an archive, passes.
"""

from toolkit.scrubbing.gate.checking import check, holds_secret

__all__ = ["check", "holds_secret"]
