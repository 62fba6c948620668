"""From a page's bytes to the text that a reader sees."""

import pytest
from bs4 import BeautifulSoup

from scrape.document import after_label, json_text, parse_html, value_at, visible_text
from scrape.fetch import Page


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a<br>b", "a\nb"),
        ("<p>a <b>b</b>c</p>d", "a bc\nd"),
        ("<td>a</td><td>b</td>", "ab"),  # no table: html5lib drops the cells
        ("<table><tr><td>a<td>b</table>", "a\nb"),
        ("a<!-- x --><script>y</script><style>z</style>b", "ab"),
        (" a \n\t b&nbsp;&amp;c ", "a b &c"),
    ],
)
def test_visible_text(html: str, text: str) -> None:
    assert visible_text(BeautifulSoup(html, "html5lib")) == text


@pytest.mark.parametrize(
    ("head", "charset", "encoding", "body", "text"),
    [
        ("", None, None, "ñ".encode(), "ñ"),
        ("<meta charset=iso-8859-1>", None, None, b"\xf1", "ñ"),
        ("<meta charset=iso-8859-1>", "utf-8", None, "ñ".encode(), "ñ"),
        ("", "nonsense", None, "ñ".encode(), "ñ"),
        ("<!-- <meta charset=iso-8859-1> --><meta charset=utf-8>", None, None, "ñ".encode(), "ñ"),
        ("<meta charset=utf-16>", None, None, "ñ".encode(), "ñ"),
        ("", None, "x-mac-roman", b"\x96", "ñ"),
        ("", "utf-8", "iso-8859-1", b"\xf1", "ñ"),
        ("", None, None, b"\xf1o", "\ufffdo"),
    ],
)
def test_encoding(
    head: str, charset: str | None, encoding: str | None, body: bytes, text: str
) -> None:
    page = Page("https://a.example/", 200, None, charset, head.encode() + b"<p>" + body)
    assert visible_text(parse_html(page, encoding).root) == text


@pytest.mark.parametrize(
    ("base", "address"),
    [
        ("/b/", "https://a.example/b/"),
        ("http://b.example/c", "http://b.example/c"),
        ("javascript:x", "https://a.example/x"),
        ("http://[", "https://a.example/x"),
    ],
)
def test_base_of(base: str, address: str) -> None:
    page = Page("https://a.example/x", 200, None, None, f"<base href='{base}'>".encode())
    assert parse_html(page, None).base == address


LABELS = """
<p>Edad: 15 años<br>Lugar : Salta</p>
<p><b>FECHA DEL HECHO:</b> <b>1/2/2024</b><br><b>VACÍO:</b> <b></b><br><b>PAIS:</b> <b>X</b></p>
<dl><dt>Provincia</dt><dd>Jujuy</dd></dl>
<table><tr><td><b>OJOS :</b></td><td><b>PARDOS</b></td></tr></table>
<div><h5>Municipio.</h5><h4>Torreón</h4></div>
<p><i>Sexo</i>: F</p>
<div><p>Último:</p></div><div>no</div>
<p>Peso: <br>Talla: 1,50 m<br>Ojos de: <br>Ciudad Verde</p>
<p><b>Calle:</b> <br><b>Barrio:</b> Norte</p>
<dl><dt>Cantón<dt>Distrito<dd>Sur</dl>
<p><b>Altura:</b>&nbsp;<b>1,40</b> <b>Tez:</b> clara</p>
<p><b>Años:</b> <span>8</span> meses</p>
<p><b>Día:</b> 8 de <i>marzo</i> de 2024<br>no</p>
<p><b>Señas:</b><i class="icono"></i> lunar</p>
"""


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("edad", "15 años"),
        ("LUGAR:", "Salta"),
        ("Fecha del hecho", "1/2/2024"),
        ("vacio", ""),
        ("país", "X"),
        ("provincia", "Jujuy"),
        ("ojos", "PARDOS"),
        ("municipio", "Torreón"),
        ("sexo", "F"),
        ("fecha", ""),
        ("último", "no"),
        ("peso", ""),
        ("ojos de", "Ciudad Verde"),
        ("calle", ""),
        ("barrio", "Norte"),
        ("cantón", ""),
        ("distrito", "Sur"),
        ("altura", "1,40"),
        ("tez", "clara"),
        ("años", "8 meses"),
        ("día", "8 de marzo de 2024"),
        ("señas", "lunar"),
    ],
)
def test_the_value_after_a_label(label: str, value: str) -> None:
    tree = BeautifulSoup(LABELS, "html5lib")
    assert next(filter(None, after_label(tree, label)), "") == value


@pytest.mark.parametrize(
    ("html", "value"),
    [
        ("<b>Lugar</b><br><b>Sexo</b> F", ""),
        ("<b>Lugar</b><br><b>Sexo</b>", ""),
        ("<b>Lugar</b><br><b></b>Orán", "Orán"),
        ("<b>Lugar</b><br>Orán", "Orán"),
        ("<b>Lugar</b><br><i>Orán</i>", "Orán"),
        ("<b>Lugar</b> <b>Orán</b>", "Orán"),
        ("<span>Lugar</span><br><span>Sexo</span> F", ""),
        ("<span>Lugar</span><br><span>Sexo</span> <i>F</i>", ""),
        ("<span>Lugar</span><br><span>Orán</span>", "Orán"),
        ("<span>Lugar</span><br><span>Orán</span><br>Sexo F", "Orán"),
        ("<span>Lugar</span><br><span>Orán</span><p>Sexo F</p>", "Orán"),
        ("<span>Lugar</span><br><span>: Orán</span>", "Orán"),
        ("<span>Lugar</span><span>Orán</span>", "Orán"),
        ("<h4>Lugar</h4><h4>Edad</h4>", ""),
        ("<h4>Lugar</h4><h4>Edad</h4><p>12</p>", ""),
        ("<h4>Lugar</h4><p>Orán</p>", "Orán"),
        ("<h4>Lugar</h4>Orán<h4>Edad</h4>", "Orán"),
        ("<h5>Lugar</h5><h4>Orán</h4>", "Orán"),
        ("<p><b>Lugar</b></p><p><b>Sexo</b> F</p>", ""),
        ("<p><b>Lugar</b></p><p><b>Orán</b></p>", "Orán"),
        ("<strong>Lugar</strong><br><b>Sexo</b> F", ""),
        ("<dl><div><dt>Lugar</dt></div><div><dt>Sexo</dt><dd>F</dd></div></dl>", ""),
        ("<table><tr><th>Lugar</th></tr><tr><th>Sexo</th><td>F</td></tr></table>", ""),
        ("<table><tr><th>Lugar</th></tr><tr><td>Orán</td></tr></table>", "Orán"),
        ("<li>Lugar:</li><li>Sexo: F</li>", ""),
        ("<li><b>Lugar:</b></li><li><b>Sexo:</b> F</li>", ""),
        ("<div>Lugar</div><div>Orán</div>", "Orán"),
        ("<table><td>Lugar<td>Orán: centro</table>", "Orán: centro"),
        ("<p>Lugar: Orán <b>Sexo:</b> F</p>", "Orán"),
        ("<section><b>Lugar</b></section><section><b>Sexo</b> F</section>", ""),
        ("<section>Lugar:</section><section>Sexo: F</section>", ""),
        ("<dl><dd>Lugar<dd>Orán: centro</dl>", "Orán: centro"),
        ("<dl><dt>Lugar</dt><dd></dd></dl><p>Orán</p>", ""),
        ("<table><tr><th>Sexo<th>Lugar<tr><td>F<td>Orán</table>", ""),
        ("<dl><dt>Lugar</dt><dd><p>Orán</p><p>Salta</p></dd></dl>", "Orán Salta"),
    ],
)
def test_a_label_is_not_the_value_of_another(html: str, value: str) -> None:
    assert list(after_label(BeautifulSoup(html, "html5lib"), "Lugar")) == [value]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("", "\ufffd"),
        ("b", "\ufffd"),
        ("b.d", "\ufffd"),
        ("j.1", "2"),
        ("a", "1"),
        ("b.c", "x"),
        ("b.d.1.e", "true"),
        ("b.d.2.e", ""),
        ("b.c.f", ""),
        ("g", "uno\ndos & tres"),
        ("h", ""),
        ("i", "https://a.example/?a=1&copy=2"),
        ("none", ""),
    ],
)
def test_a_dotted_path(path: str, text: str) -> None:
    record = {
        "a": 1,
        "b": {"c": "x", "d": [{}, {"e": True}]},
        "g": "<b>uno</b><br>dos &amp; tres",
        "h": None,
        "j": ["uno", 2],
        "i": "https://a.example/?a=1&copy=2",
    }
    assert json_text(value_at(record, path)) == text
