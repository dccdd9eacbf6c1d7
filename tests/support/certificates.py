"""A certificate authority of a test's own, and a certificate of it for 127.0.0.1."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Certificates:
    authority: Path
    certificate: Path
    key: Path


def make_certificates(folder: Path) -> Certificates:
    """Made by the openssl command; a machine without it skips the test."""
    if not shutil.which("openssl"):
        pytest.skip("this machine has no openssl command")
    made = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    ca_key, request, names = folder / "ca.key", folder / "server.csr", folder / "names"
    names.write_text("subjectAltName=IP:127.0.0.1\n")
    new = ("req", "-newkey", "rsa:2048", "-nodes")
    for command in (
        (*new, "-x509", "-days", "2", "-subj", "/CN=tests", "-keyout", ca_key, "-out", made.authority),
        (*new, "-subj", "/CN=asterisk", "-keyout", made.key, "-out", request),
        ("x509", "-req", "-in", request, "-CA", made.authority, "-CAkey", ca_key, "-CAcreateserial",
         "-days", "2", "-extfile", names, "-out", made.certificate),
    ):  # fmt: skip
        subprocess.run(("openssl", *command), check=True, capture_output=True)
    return made
