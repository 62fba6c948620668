"""Random histories of a register, played against the rules: who is shown, and who should be."""

from collections import Counter
from pathlib import Path

import pytest

from conftest import Figure
from support.kinds import KINDS
from support.nights import History

pytestmark = pytest.mark.slow

NIGHTS = 120
MEASURES = {
    "wrongly found": "children who are counted as found at the end, though sought and listed",
    "found on show": "nights on which a child is shown who was found",
    "sought not shown": "nights on which a child is not shown who was read once and is sought",
    "hidden shown": "nights on which a hidden child is shown",
    "another's": "nights on which a name has another child's face, facts or file",
}
RECORDED = {  # in all, by the number of histories
    30: [28, 2_386, 715, 138, 103],
    120: [126, 10_274, 4_008, 758, 1_096],
}


def test_who_is_shown_in_random_histories(tmp_path: Path, full: bool, figure: Figure) -> None:
    histories = 120 if full else 30
    count: Counter[tuple[str, str]] = Counter()
    for seed in range(histories):
        history = History(seed, tmp_path / f"{seed}.db")
        for _ in range(NIGHTS):
            history.night()
        count += history.end()
    figure(f"{histories} histories of {NIGHTS} nights (* is promised by the specification):")
    figure(f"{'':26}" + "".join(f"{name:>18}" for name in MEASURES))
    for kind, (_, promised, _) in KINDS.items():
        figures = "".join(f"{count[kind, name]:18,}" for name in MEASURES)
        figure(f"{'* ' if promised else '  '}{kind.replace('_', ' '):24}{figures}")
    totals = [sum(count[kind, name] for kind in KINDS) for name in MEASURES]
    figure(f"{'  in all':26}" + "".join(f"{total:18,}" for total in totals))
    for name in ("hidden shown", "another's"):
        assert not {k for k in KINDS if KINDS[k].promised and count[k, name]}
    for name, total, recorded in zip(MEASURES, totals, RECORDED[histories], strict=True):
        assert 10 * total <= 11 * recorded, name
