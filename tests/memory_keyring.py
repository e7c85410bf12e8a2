"""A system keyring in memory, for tests that save credentials."""

from __future__ import annotations

from keyring.backend import KeyringBackend


class MemoryKeyring(KeyringBackend):
    """A keyring as strict as that of Windows, with 1,280 characters for an entry. Calls named in `broken` fail."""

    priority = 5

    def __init__(self):
        super().__init__()
        self.entries = {}
        self.broken = set()

    def _call(self, name, *arguments):
        if name in self.broken:
            raise RuntimeError(f"cannot {name} {arguments} of {self.entries}")

    def get_password(self, service, username):
        self._call("get", service, username)
        return self.entries.get((service, username))

    def set_password(self, service, username, password):
        self._call("set", service, username, password)
        if len(password) > 1280:
            raise RuntimeError(f"too long: {password}")
        self.entries[service, username] = password

    def delete_password(self, service, username):
        self._call("delete", service, username)
        del self.entries[service, username]
