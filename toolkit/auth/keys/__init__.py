"""Private keys: `private_key` reads one, when credentials are made, and `signer` signs with it.

A Signer of the user's own, which keeps its key elsewhere, is checked and used as it is. `new_key` makes new key pairs.
"""

from toolkit.auth.keys.private_key import as_signer
from toolkit.auth.keys.signer import LocalKey, Signer

__all__ = ["LocalKey", "Signer", "as_signer"]
