"""Saved credentials go where they were saved for, and nowhere else.

A project's toolkit.toml says where the service is, and a project may be anybody's. Without this, a
cloned repository could name an address of its own and be sent the secrets of the user's keyring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolkit.errors import ConfigurationError, UnsafeAddress
from toolkit.settings import FILE_NAME, variable_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolkit.service import Environment
    from toolkit.settings import Settings

_SAVE_AGAIN: Final = (
    "save the credentials again with save_credentials(), or mend [origins] if you wrote the file yourself"
)


def origins_of(environment: Environment, settings: Settings) -> dict[str, str]:
    """Name and origin of each address of this environment that is set.

    Raises:
        ConfigurationError: none is set, so there is nothing to bind credentials to.
    """
    names = environment.rules.addresses.values()
    origins = {name: str(settings.address(name).origin) for name in names if name in settings.addresses}
    if not origins:
        raise ConfigurationError(
            f"No address of {environment} is set, and saved credentials are bound to the addresses they are for.",
            f"Set {', '.join(names)} under [addresses] in {FILE_NAME}, "
            f"or the variables {', '.join(map(variable_name, names))}; then save again.",
        )
    return origins


def check_binding(bound: Mapping[str, str], environment: Environment, source: str, settings: Settings) -> None:
    """Refuse when the settings send credentials elsewhere than they are bound to.

    `bound` holds name and origin of each address they were saved for. An address that is not set takes
    nothing anywhere; one that was not set when they were saved is as good as another.

    Raises:
        UnsafeAddress: an origin differs; names the old one and the new one.
    """
    for name in environment.rules.addresses.values():
        if name not in settings.addresses:
            continue
        new, old = str(settings.address(name).origin), bound.get(name)
        if new != old:
            saved = f"for {old}" if old else "without such an address"
            raise UnsafeAddress(
                f"The address {name} is now {new}; the credentials for {environment} in {source} were saved {saved}.",
                f"Look at {settings.file or 'the addresses given'} and the variable {variable_name(name)}: whoever "
                f"wrote them would receive the credentials. If you trust {new}, {_SAVE_AGAIN}.",
            )
