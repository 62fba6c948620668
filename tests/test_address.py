"""Web addresses as they are fetched, and as they are stored."""

import pytest

from scrape.address import https, resolve


@pytest.mark.parametrize(
    ("base", "text", "address"),
    [
        ("http://a.example/b/c", "../d", "http://a.example/d"),
        ("https://a.example/", "//H.example/niño 1.jpg", "https://h.example/ni%C3%B1o%201.jpg"),
        ("https://a.example/", "javascript:alert(1)", None),
        ("https://a.example/", "data:image/png;base64,AA", None),
        ("https://a.example/", "https://u:p@a.example/", None),
        ("https://a.example/", "http://[::1", None),
        ("https://a.example/", "http:///x", None),
        ("https://a.example/", "/" + "x" * 2000, None),
    ],
)
def test_resolve(base: str, text: str, address: str | None) -> None:
    if address is None:
        with pytest.raises(ValueError):
            resolve(base, text)
    else:
        assert resolve(base, text) == address


@pytest.mark.parametrize(
    ("address", "raised"),
    [
        ("http://a.example:80/b?c", "https://a.example/b?c"),
        ("http://a.example:8080/b", "https://a.example:8080/b"),
        ("https://a.example/b", "https://a.example/b"),
    ],
)
def test_https(address: str, raised: str) -> None:
    assert https(address) == raised
