"""TLS on loopback: certificates of any kind, servers that show them, and a proxy that leads every host to one."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

DAY = timedelta(days=1)


class Authority:
    """A certificate authority; `file` has its certificate, `text` too."""

    def __init__(self, folder, name="Desk Authority"):
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self.certificate = self._sign(self.name, self.key.public_key(), _authority_extensions(self.key), -DAY, DAY)
        self.text = self.certificate.public_bytes(serialization.Encoding.PEM)
        self.file = folder / f"{name.replace(' ', '-')}.pem"
        self.file.write_bytes(self.text)

    def certify(self, *hosts, begins=-DAY, ends=DAY, names_issuer_key=True):
        """Return the file of a new key and a certificate for hosts, valid from and to these times from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.IPAddress(ip_address(host)) if host[0].isdigit() else x509.DNSName(host) for host in hosts]
        extensions = [(x509.SubjectAlternativeName(names), False)]
        if names_issuer_key:  # RFC 5280 section 4.2.1.1, which Python 3.13 and later check
            extensions.append((x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), False))
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, hosts[0])])
        certificate = self._sign(subject, key.public_key(), extensions, begins, ends)
        file = self.folder / f"server-{certificate.serial_number}.pem"
        file.write_bytes(_private(key) + certificate.public_bytes(serialization.Encoding.PEM))
        return file

    def _sign(self, subject, public_key, extensions, begins, ends):
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(self.name, subject, public_key, x509.random_serial_number())
        builder = builder.not_valid_before(now + begins).not_valid_after(now + ends)
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical=critical)
        return builder.sign(self.key, hashes.SHA256())


def _authority_extensions(key):
    usage = dict.fromkeys(
        (
            "digital_signature content_commitment key_encipherment data_encipherment key_agreement encipher_only "
            "decipher_only"
        ).split(),
        False,
    )
    return [
        (x509.BasicConstraints(ca=True, path_length=None), True),
        (x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), True),
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
    ]


def _private(key):
    pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, pkcs8, plain)


@contextlib.contextmanager
def tls_server(file, answer=lambda head: b"{}"):
    """Serve with the key and certificate of a file; yield the port and the heads of the requests."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    heads = []

    def serve(connection):
        with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as secure:
            while True:
                head = b""
                while b"\r\n\r\n" not in head:
                    data = secure.recv(65536)
                    if not data:
                        return
                    head += data
                heads.append(head)
                body = answer(head)
                lines = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                secure.sendall(lines.encode() + body)

    with _listener(serve) as port:
        yield port, heads


@contextlib.contextmanager
def tunnel(to_port, file=None):
    """Run a proxy that leads every CONNECT to a port of this machine; yield its URL and the requested hosts.

    With the file of a key and a certificate, the proxy is called with TLS itself.
    """
    hosts = []
    context = None
    if file is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)

    def serve(connection):
        with contextlib.suppress(OSError):
            if context is not None:
                connection = context.wrap_socket(connection, server_side=True)
            hosts.append(connection.recv(65536).split()[1].decode())
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            with socket.create_connection(("127.0.0.1", to_port)) as target:
                back = threading.Thread(target=_copy, args=[target, connection], daemon=True)
                back.start()
                _copy(connection, target)
                back.join(5)

    with _listener(serve) as port:
        yield f"{'https' if file else 'http'}://127.0.0.1:{port}", hosts


def _copy(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def _listener(serve):
    def accept():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=_closing, args=[serve, connection], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)


def _closing(serve, connection):
    with connection:
        serve(connection)
