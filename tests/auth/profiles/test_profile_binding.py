from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from toolkit.auth.profiles.document import check_binding, origins_of
from toolkit.core.document import ADDRESS_NAMES, Environment
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.local.settings import Settings

addresses = st.dictionaries(
    st.sampled_from(ADDRESS_NAMES),
    st.sampled_from(["https://a.example", "https://a.example/v1", "https://b.example", "https://a.example:444"]),
)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(Environment), addresses, addresses)
def test_binding(project, environment, then, now):
    """Credentials pass exactly when each address of the environment that is set now has the origin it had then."""
    then, now = Settings(then, project=project), Settings(now, project=project)
    names = set(environment.rules.addresses.values())
    if not names & then.addresses.keys():
        with pytest.raises(ConfigurationError):
            origins_of(environment, then)
        return
    origins = {
        name: {str(each.address(name).origin) for each in (then, now) if name in each.addresses}
        for name in names & now.addresses.keys()
    }
    if all(len(origin) == 1 and name in then.addresses for name, origin in origins.items()):
        check_binding(origins_of(environment, then), environment, "somewhere", now)
    else:
        with pytest.raises(UnsafeAddress):
            check_binding(origins_of(environment, then), environment, "somewhere", now)


def test_refusal(project):
    """The refusal names address, both origins, the source and where the new one was set."""
    settings = Settings({"auth": "https://b.example/v1"}, project=project, file=project / "toolkit.toml")
    with pytest.raises(UnsafeAddress) as caught:
        check_binding({"auth": "https://a.example"}, Environment.BROKER_LIVE, "keyring", settings)
    told = str(caught.value)
    for each in ("auth", "https://a.example", "https://b.example", "keyring", "toolkit.toml", "TOOLKIT_AUTH_URL"):
        assert each in told
