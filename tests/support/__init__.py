"""What the tests share: registers, the programs as processes, the API in two ways."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
TLS = ROOT / "tests" / "tls"  # a certificate of 127.0.0.1 that vouches for itself, until 2126
KEY = "a-key-of-made-up-letters"
STAFF_KEY = "the-staffs-made-up-letters"


def missing(what: str) -> NoReturn:
    """Skip a test that needs what is not installed; CI must have it."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is needed where CI is set")
    pytest.skip(f"{what} is not installed")
