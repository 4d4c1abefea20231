"""The certificates of a mesh's server: an authority of its own, and a certificate that it signs."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta

from synapse.base import files
from synapse.mesh.server.state import path_of
from synapse.peers.mesh.link import missing

AUTHORITY_DAYS, SERVER_DAYS = 3650, 825
EARLY = timedelta(hours=25)  # a machine whose clock is behind accepts it too


def make_certificates(names: list[str]) -> None:
    """Writes ca.pem, ca.key, server.pem and server.key. The authority is kept if there is one: invitations
    name it."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID
    except ModuleNotFoundError as error:
        raise missing(error) from error

    def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
        return key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def builder(subject: x509.Name, issuer: x509.Name, days: int) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - EARLY)
            .not_valid_after(now + timedelta(days=days))
        )

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    try:
        with open(path_of("ca.key"), "rb") as file:
            authority_key = serialization.load_pem_private_key(file.read(), None)
        with open(path_of("ca.pem"), "rb") as file:
            authority = x509.load_pem_x509_certificate(file.read())
        assert isinstance(authority_key, ec.EllipticCurvePrivateKey)
    except FileNotFoundError:
        authority_key = ec.generate_private_key(ec.SECP256R1())
        itself = name("Synapse mesh")
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
        authority = (
            builder(itself, itself, AUTHORITY_DAYS)
            .public_key(authority_key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False
            )
            .sign(authority_key, hashes.SHA256())
        )
        files.replace(path_of("ca.key"), pem(authority_key))
        files.replace(path_of("ca.pem"), authority.public_bytes(serialization.Encoding.PEM))
    key = ec.generate_private_key(ec.SECP256R1())
    authority_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    certificate = (
        builder(name("Synapse mesh server"), authority.subject, SERVER_DAYS)
        .public_key(key.public_key())
        .add_extension(x509.SubjectAlternativeName([_alternative(each) for each in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(authority_id, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    files.replace(path_of("server.key"), pem(key))
    files.replace(path_of("server.pem"), certificate.public_bytes(serialization.Encoding.PEM))


def _alternative(name: str):  # type: ignore[no-untyped-def]  # its type needs the package
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
