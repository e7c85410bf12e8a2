from __future__ import annotations

import copy
import json
import pickle

import pytest
from key_forms import DEFAULTS, KEYS_AND_ALGORITHMS, RSA_ALGORITHMS, identity, jwk, key, pem, refusal

from toolkit.auth.keys import LocalKey, Signer, as_signer


@pytest.mark.parametrize("kind", DEFAULTS)
def test_algorithm_fits_the_key(kind):
    """An algorithm that does not fit the key is refused with those that do; never `none`, never a shared secret."""
    fitting = RSA_ALGORITHMS if kind == "RSA" else [DEFAULTS[kind]]
    for algorithm in ("none", "HS256", "HS512", "ES256K", "es256", *DEFAULTS.values(), *RSA_ALGORITHMS):
        if algorithm in fitting:
            assert as_signer(key(kind), algorithm=algorithm).algorithm == algorithm
        else:
            error = refusal(key(kind), algorithm=algorithm)
            assert repr(algorithm) in error.what
            assert error.about == "algorithm"
            assert all(name in error.next_step for name in fitting)


@pytest.mark.parametrize("kind", DEFAULTS)
def test_usual_algorithm(kind):
    """Each kind of key has a usual algorithm."""
    assert as_signer(key(kind)).algorithm == DEFAULTS[kind]


@pytest.mark.parametrize(("kind", "algorithm"), KEYS_AND_ALGORITHMS)
def test_local_key_is_a_signer(kind, algorithm):
    """A LocalKey is a Signer with the key, algorithm and key ID that it was made with."""
    local = as_signer(key(kind), algorithm=algorithm, key_id="kid-1")
    assert isinstance(local, Signer)
    assert (local.algorithm, local.key_id, local.identity()) == (algorithm, "kid-1", identity(kind))


def test_local_key_shows_nothing():
    """A LocalKey shows only its algorithm, and is neither pickled nor copied out of the process."""
    local = as_signer(pem(key("P-256")), key_id="kid-1")
    assert repr(local) == str(local) == f"{local}" == "<LocalKey ES256>"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(local, protocol)
    with pytest.raises(TypeError):
        vars(local)
    with pytest.raises(TypeError):
        json.dumps(local)
    with pytest.raises(TypeError):
        copy.deepcopy(local)
    assert isinstance(local, LocalKey)


@pytest.mark.parametrize("form", [pem, jwk])
def test_key_is_read_once(form, monkeypatch, tmp_path):
    """The key is parsed when it is given, so that neither the file nor a parser is needed to sign."""
    file = tmp_path / "key"
    file.write_text(form(key("RSA")))
    signer = as_signer(file)
    file.unlink()
    for parser in ("load_pem_private_key", "load_der_private_key"):
        monkeypatch.setattr(f"cryptography.hazmat.primitives.serialization.{parser}", None)
    monkeypatch.setattr("jwt.PyJWK.from_dict", None)
    assert len(signer.sign(b"data")) == 256
