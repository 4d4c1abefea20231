"""The certificates of a mesh's server: an authority of its own, and a certificate that it signs.

Needs the extra `mesh`.
"""

import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from synapse.base import files
from synapse.mesh.server.state import path_of

AUTHORITY_DAYS, SERVER_DAYS = 3650, 825
EARLY = timedelta(hours=25)  # a machine whose clock is behind accepts it too


def make_certificates(names: list[str]) -> None:
    """Writes ca.pem, ca.key, server.pem and server.key. The authority is kept if there is one: invitations
    name it."""
    try:
        authority_key, authority = _read_authority()
    except FileNotFoundError:
        authority_key, authority = _make_authority()
        _write("ca", authority_key, authority)
    key = ec.generate_private_key(ec.SECP256R1())
    _write("server", key, _server_certificate(names, key, authority_key, authority))


def _read_authority() -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    with open(path_of("ca.key"), "rb") as file:
        key = serialization.load_pem_private_key(file.read(), None)
    with open(path_of("ca.pem"), "rb") as file:
        certificate = x509.load_pem_x509_certificate(file.read())
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key, certificate


def _make_authority() -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    itself = _name("Synapse mesh")
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _builder(itself, itself, AUTHORITY_DAYS)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return key, certificate


def _server_certificate(
    names: list[str],
    key: ec.EllipticCurvePrivateKey,
    authority_key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
) -> x509.Certificate:
    authority_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    return (
        _builder(_name("Synapse mesh server"), authority.subject, SERVER_DAYS)
        .public_key(key.public_key())
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(authority_id, critical=False)
        .sign(authority_key, hashes.SHA256())
    )


def _builder(subject: x509.Name, issuer: x509.Name, days: int) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLY)
        .not_valid_after(now + timedelta(days=days))
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write(stem: str, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    files.replace(path_of(f"{stem}.key"), key.private_bytes(*form))
    files.replace(path_of(f"{stem}.pem"), certificate.public_bytes(serialization.Encoding.PEM))
