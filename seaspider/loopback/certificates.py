"""Certificates for https on the loopback web: one authority that a test may trust, and ones that nobody should.

Made anew in memory for each call; nothing is kept on disk. Keys are P-256, certificates are valid for one day.
"""

import ssl
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from seaspider.loopback.sockets import is_loopback

DAY = timedelta(days=1)


class Authority:
    """A certificate authority. `pem` is what a client has to trust."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("loopback authority")
        self._certificate = _sign(self._name, self._key.public_key(), self._name, self._key, ca=True)
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def server(self, names: Sequence[str], *, expired: bool = False) -> ssl.SSLContext:
        """A server's context with a certificate for these host names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _sign(_name(names[0]), key.public_key(), self._name, self._key, names=names, expired=expired)
        return _context(signed, key)


def self_signed(names: Sequence[str]) -> ssl.SSLContext:
    """A server's context with a certificate that only itself vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(names[0])
    return _context(_sign(name, key.public_key(), name, key, names=names), key)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _sign(
    subject: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    names: Sequence[str] = (),
    ca: bool = False,
    expired: bool = False,
) -> x509.Certificate:
    begin = datetime.now(UTC) - (3 * DAY if expired else DAY / 24)
    builder = (
        x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + DAY)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=0 if ca else None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if names:
        alternatives = [x509.IPAddress(ip_address(n)) if is_loopback(n) else x509.DNSName(n) for n in names]
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _context(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    pem = certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The ssl module reads a chain from a file only.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "server.pem")
        path.write_bytes(pem)
        context.load_cert_chain(path)
    return context
