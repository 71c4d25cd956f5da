"""Certificates made at test time: an authority, and leaves that are good, expired or signed by nobody."""

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _subject(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


class Authority:
    """A certificate authority; `cafile` is what a client has to trust. All files go into `directory`."""

    def __init__(self, directory: Path, name: str = "Test authority") -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self._made = 0
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = _builder(self._name, self._name, self._key, self._key, timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(True, 0), True).add_extension(usage, True)
        self.cafile = directory / "ca.pem"
        self.cafile.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))

    def server(self, *names: str, expired: bool = False, self_signed: bool = False) -> ssl.SSLContext:
        """A server's context with a certificate for `names`, DNS names and IP literals."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name("Test server")
        issuer, signer = (subject, key) if self_signed else (self._name, self._key)
        builder = _builder(subject, issuer, key, signer, timedelta(days=-1 if expired else 1))
        names_extension = x509.SubjectAlternativeName([_subject(name) for name in names])
        builder = builder.add_extension(names_extension, False)
        builder = builder.add_extension(x509.BasicConstraints(False, None), True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        certificate = builder.sign(signer, hashes.SHA256())
        self._made += 1
        chain = self._directory / f"server-{self._made}.pem"
        plain = serialization.NoEncryption()
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        chain.write_bytes(private + _pem(certificate))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    ends_in: timedelta,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=9)).not_valid_after(now + ends_in)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    return builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
