from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import toolkit as tk
from toolkit.core.clock import ManualClock
from toolkit.transport.family import httpx
from toolkit.transport.network import as_toolkit_error, origin, unreachable


@pytest.fixture
def untrusted(tmp_path):
    """Start a TLS server with a certificate that is not trusted; yield its URL and the list of its connections."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "server.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    seen = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    seen.append(connection)
                    with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True):
                        pass

        threading.Thread(target=serve, daemon=True).start()
        yield f"https://127.0.0.1:{server.getsockname()[1]}", seen
        server.shutdown(socket.SHUT_RDWR)


def test_untrusted_certificate(untrusted):
    """The error says that the certificate is not trusted, and no second try is made."""
    address, seen = untrusted
    settings = tk.Settings({"broker_sandbox": address, "auth_sandbox": address})
    credentials = tk.ClientSecret("desk", "QXZ-not-a-secret", environment="broker-sandbox")
    with tk.Session(credentials=credentials, settings=settings, clock=ManualClock()) as session:
        with pytest.raises(tk.Unreachable, match=r"token endpoint.*certificate that is not trusted") as caught:
            session.accounts()
        assert not caught.value.is_passing
        assert len(seen) == 1


def test_untrusted_service(untrusted):
    """The error of an interface says so too."""
    address, _ = untrusted
    pair = tk.KeyPair("QXZ-key-id", "QXZ-secret-key", environment="paper")
    with (
        tk.Session(credentials=pair, settings=tk.Settings({"trading_paper": address})) as session,
        pytest.raises(tk.Unreachable, match=r"The service at .*not trusted"),
    ):
        session.accounts()


@pytest.mark.parametrize(
    ("error", "reason", "is_passing"),
    [
        (httpx.ConnectError("x"), "no connection", True),
        (httpx.ConnectTimeout("x"), "no connection in time", True),
        (httpx.ReadTimeout("x"), "no response in time", True),
        (httpx.RemoteProtocolError("x"), "the connection was dropped", True),
        (httpx.ProxyError("x"), "ProxyError", False),
        (httpx.LocalProtocolError("x"), "LocalProtocolError", False),
        (httpx.UnsupportedProtocol("x"), "UnsupportedProtocol", False),
    ],
)
def test_unreachable(error, reason, is_passing):
    """The error gives the reason, and says if another try may succeed."""
    result = unreachable("The service", error)
    assert result.what == f"The service cannot be reached: {reason}."
    assert result.is_passing is is_passing


def test_cycle_of_causes():
    """Errors that are each other's cause are looked at only once."""
    first, second = httpx.ConnectError("first"), OSError("second")
    first.__cause__, second.__cause__ = second, first
    assert "no connection" in unreachable("It", first).what


def test_as_toolkit_error():
    """No response and an unreadable response are different errors."""
    url = httpx.URL("https://user:QXZ@one.example.com:8443/path?token=QXZ")
    assert isinstance(as_toolkit_error(httpx.ReadTimeout("x"), url), tk.Unreachable)
    assert isinstance(as_toolkit_error(httpx.DecodingError("x"), url), tk.ServiceError)
    assert origin(url) == "https://one.example.com:8443"
