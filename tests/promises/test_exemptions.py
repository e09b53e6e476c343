"""The rule that a promise case reaches its claim can fail, in every way that it should."""

from __future__ import annotations

import pytest

from sfumato import Pure, audit
from sfumato.audit import Neighbours
from sfumato.privacy import Cost, Loss
from tests.promises import exemptions
from tests.promises.exemptions import Exemption, listed, problems
from tests.promises.found import every_case, reaches


def entry(reach: float, change: str = "person") -> Exemption:
    return Exemption("a case", change, reach, "proof is loose", "half of it is shown")


@pytest.mark.parametrize(
    ("reached", "said"),
    [
        (0.98, "reaches 0.980 of its claim; drop the entry"),
        (0.4, "reached 0.5 once, and only 0.400 now"),
    ],
)
def test_an_entry_says_what_is_measured(reached, said):
    assert problems("a case", {"person": 0.5}, {("a case", "person"): entry(0.5)}) == []
    (found,) = problems("a case", {"person": reached}, {("a case", "person"): entry(0.5)})
    assert said in found


def test_a_case_without_an_entry_reaches_its_claim():
    assert problems("a case", {"person": 0.97, "attribute": 1.0}, {}) == []
    (found,) = problems("a case", {"person": 1.0, "attribute": 0.9}, {("a case", "person"): entry(0.5)})[1:]
    assert "a case, attribute: noise 5 % smaller, or a choice 5 % steeper may survive" in found


def test_an_entry_about_neighbours_that_a_case_does_not_have_is_refused():
    (found,) = problems("a case", {"person": 1.0}, {("a case", "attribute"): entry(0.5, "attribute")})
    assert "no such neighbours" in found


@pytest.mark.parametrize(
    "wrong",
    [
        {"reason": "nobody knows"},
        {"change": "pair"},
        {"reach": 0.97},
        {"because": ""},
    ],
)
def test_an_entry_gives_a_reason_from_the_list(wrong):
    fields = {"case": "a case", "change": "person", "reach": 0.5, "reason": "proof is loose", "because": "so"}
    with pytest.raises(ValueError, match=r"reason|entry"):
        Exemption(**{**fields, **wrong})


def test_every_entry_is_about_a_case_that_is_there():
    names = {case.name for case in every_case()}
    assert {case for case, _ in listed()} <= names


def test_reach_is_that_of_the_attribute_that_shows_least_and_unions_are_left_out():
    """Randomized response on two bits, one of them told with twice the loss of the other."""

    def bits(pair, noise):
        return (pair[0] ^ noise.bernoulli("1/4"), pair[1] ^ noise.bernoulli("2/5"))

    a, b = frozenset({"a"}), frozenset({"b"})
    pairs = [
        Neighbours((0, 0), (1, 0), a),
        Neighbours((0, 0), (0, 1), b),
        Neighbours((0, 0), (0, 1), a | b),
        ((0, 0), (1, 1)),
    ]
    report = audit.check(bits, pairs, claim=Loss.flat(Cost.of(Pure(2))))
    found = reaches(report)
    assert found["attribute"] == pytest.approx(0.405 / 2, abs=0.001)
    assert found["person"] == pytest.approx((1.0986 + 0.4055) / 2, abs=0.001)


def test_what_is_written_is_read_back(tmp_path, monkeypatch):
    place = tmp_path / "exempt.toml"
    place.write_text(exemptions.written([entry(0.5), entry(0.25, "attribute")]))
    monkeypatch.setattr(exemptions, "PLACE", place)
    assert list(listed.__wrapped__().values()) == [entry(0.5), entry(0.25, "attribute")]
