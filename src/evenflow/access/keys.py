"""The operator's keys: who signs tokens, and the CA whose certificates doors show.

::

    signing.key   signs tokens: keep it with the operator
    signing.pub   checks tokens: at every door
    ca.key        signs certificates: keep it with the operator
    ca.pem        what clients trust, and nothing else
    server.key    of every door
    server.pem    certificate of every door, signed by the CA

All doors show one name (`SERVER_NAME`), because clients know them by changing addresses and trust
them for their certificate alone. Files are made with mode 0600, and none is ever overwritten,
except those of a door when they are renewed.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from evenflow.access.names import CA_FILE, SERVER_FILE, SERVER_KEY, SERVER_NAME
from evenflow.errors import StorageError, UsageError

SIGNING_KEY: Final = "signing.key"
SIGNING_PUB: Final = "signing.pub"
CA_KEY: Final = "ca.key"
CA_DAYS: Final = 3_650
SERVER_DAYS: Final = 730
EARLIER: Final = timedelta(days=1)
"""Certificates are valid from a day ago: clocks differ."""


def init_keys(folder: Path) -> list[Path]:
    """Make all keys in a folder; return the files.

    Raises:
        UsageError: One of them is there already.
        StorageError: They cannot be written.
    """
    names = (SIGNING_KEY, SIGNING_PUB, CA_KEY, CA_FILE, SERVER_KEY, SERVER_FILE)
    if there := [name for name in names if (folder / name).exists()]:
        raise UsageError(
            f"{folder} has {', '.join(there)} already, and keys are not overwritten: with new ones"
            " every token and every client's ca.pem would be worthless. Name another folder"
        )
    signing = Ed25519PrivateKey.generate()
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _ca_certificate(ca_key)
    key, certificate = _server_certificate(ca_key, ca)
    public = signing.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    contents = (_private(signing), public, _private(ca_key), _public(ca), key, certificate)
    made: list[Path] = []
    try:
        for name, data in zip(names, contents, strict=True):
            made.append(write_private(folder / name, data))
    except StorageError:  # half of them would be in the way of the next attempt
        for file in made:
            file.unlink(missing_ok=True)
        raise
    return made


def renew_server(folder: Path) -> list[Path]:
    """Make a new key and certificate for the doors, by the CA of a folder; return the files."""
    ca_key = _private_key(folder / CA_KEY)
    try:
        ca = x509.load_pem_x509_certificate(_read(folder / CA_FILE))
    except ValueError:
        raise StorageError(str(folder / CA_FILE), "is no certificate: put it back") from None
    if not isinstance(ca_key, ec.EllipticCurvePrivateKey):
        raise UsageError(f"{folder / CA_KEY} is not a key of evenflow keys init")
    key, certificate = _server_certificate(ca_key, ca)
    made = []
    for name, data in ((SERVER_KEY, key), (SERVER_FILE, certificate)):
        fresh = folder / f"{name}.new"
        fresh.unlink(missing_ok=True)
        made.append(write_private(fresh, data).rename(folder / name))
    return made


def signing_key(folder: Path) -> Ed25519PrivateKey:
    """Return the key that signs tokens."""
    path = folder / SIGNING_KEY
    key = _private_key(path)
    if not isinstance(key, Ed25519PrivateKey):
        raise StorageError(str(path), "is no Ed25519 key: evenflow keys init makes one")
    return key


def public_key(folder: Path) -> Ed25519PublicKey:
    """Return the key that checks tokens."""
    path = folder / SIGNING_PUB
    try:
        key = load_pem_public_key(_read(path))
    except ValueError:
        raise StorageError(str(path), "is no key: put it back") from None
    if not isinstance(key, Ed25519PublicKey):
        raise StorageError(str(path), "is no Ed25519 key: evenflow keys init makes one")
    return key


def _private_key(path: Path) -> object:
    try:
        return load_pem_private_key(_read(path), password=None)
    except (ValueError, TypeError):  # a password is asked for
        raise StorageError(str(path), "is no key without a password: put it back") from None


# -- certificates ----------------------------------------------------------------------------------


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(subject: str, key: ec.EllipticCurvePublicKey, days: int) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_named(subject))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _ca_certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = f"evenflow CA {x509.random_serial_number() >> 128:08x}"
    return (
        _builder(name, key.public_key(), CA_DAYS)
        .issuer_name(_named(name))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )


def _server_certificate(
    ca_key: ec.EllipticCurvePrivateKey, ca: x509.Certificate
) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(SERVER_NAME, key.public_key(), SERVER_DAYS)
        .issuer_name(ca.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(SERVER_NAME)]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()),
            critical=False,
        )
        .sign(ca_key, hashes.SHA256())
    )
    return _private(key), _public(certificate)


# -- files -----------------------------------------------------------------------------------------


def _private(key: Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _public(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise StorageError(str(path), "is not there: evenflow keys init makes it") from None
    except OSError as error:
        raise StorageError(str(path), f"cannot be read: {error.strerror}") from None


def write_private(path: Path, data: bytes) -> Path:
    """Write a new file that only its owner can read; nothing is left of one that has no room."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(opened, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            path.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StorageError(str(path), f"cannot be written: {error.strerror}") from None
    return path
