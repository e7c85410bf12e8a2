from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import toolkit as tk
from toolkit.core.clock import ManualClock
from toolkit.transport.errors import as_toolkit_error, origin, unreachable


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
        (httpx.ReadTimeout("x"), "no complete response in time", True),
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


@pytest.fixture
def free_port():
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture
def plain_port():
    """A port on which a server answers everything with an error in plain HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(1024)
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def failure_at(address, *, is_async, proxy=None):
    """Return the error of a session whose service has this address."""
    pair = tk.KeyPair("QXZ-key-id", "QXZ-secret-key", environment="paper")
    options = {"credentials": pair, "settings": tk.Settings({"trading_paper": address}), "clock": ManualClock()}
    session = (tk.AsyncSession if is_async else tk.Session)(**options, proxy=proxy)
    with pytest.raises(tk.Unreachable) as caught:
        asyncio.run(session.accounts()) if is_async else session.accounts()
    return caught.value


@pytest.mark.parametrize("is_async", [False, True])
def test_why_there_is_no_connection(free_port, plain_port, monkeypatch, is_async):
    """A port without a listener, an unknown host and a port without TLS are different, also behind a proxy."""
    error = failure_at(f"http://127.0.0.1:{free_port}", is_async=is_async)
    assert error.what == f"The service at http://127.0.0.1:{free_port} cannot be reached: nothing listens there."
    assert "it may have ended" in error.next_step
    error = failure_at(f"https://127.0.0.1:{plain_port}", is_async=is_async)
    assert error.what.endswith(" cannot be reached: what answers there does not speak TLS.")
    assert not error.is_passing
    proxy = f"http://desk:QXZ-password@127.0.0.1:{free_port}"
    error = failure_at("https://one.example.com", is_async=is_async, proxy=proxy)
    assert error.what.endswith(f": nothing listens at its proxy. The proxy is http://127.0.0.1:{free_port}.")
    assert "proxy=" in error.next_step

    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "QXZ")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = failure_at("https://one.example.com", is_async=is_async)
    assert error.what == "The service at https://one.example.com cannot be reached: its host name is not known."
    assert "the name in the address" in error.next_step


def test_an_address_with_several_hosts():
    """The reason is found among the errors of all addresses of a host."""
    each = ExceptionGroup("all failed", [OSError("network is unreachable"), ConnectionRefusedError("refused")])
    error = httpx.ConnectError("x")
    error.__cause__ = each
    assert unreachable("It", error).what == "It cannot be reached: nothing listens there."


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
