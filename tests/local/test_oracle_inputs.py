"""Oracles by themselves: reachable from `sfumato.local`, and public mistakes are refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sfumato import Pure, domain, local
from sfumato.errors import ParameterError
from sfumato.local import Items, Seed
from sfumato.papers import heavy_hitters


def test_every_oracle_is_a_name_of_the_package() -> None:
    made = [
        local.linear_hash(Pure(1), 12),
        local.hadamard_response(Pure(1), 12),
        heavy_hitters.hashtogram(Pure(1), 1000),
        local.response(Pure(1), 3),
        local.mean_response(Pure(1), 3),
        heavy_hitters.unary_encoding(Pure(1), 3),
        heavy_hitters.local_hash(Pure(1), 3),
    ]
    for oracle in made:
        assert type(oracle).__name__ in (*local.__all__, *heavy_hitters.__all__)
        assert 0 < oracle.loss().person.epsilon <= 1


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "cells below one": (lambda: local.hadamard_response(Pure(1), -5), "cells must be at least 1"),
    "cells as text": (lambda: local.hadamard_response(Pure(1), "12"), "whole number"),  # type: ignore[arg-type]
    "negative blocks": (lambda: local.hadamard_response(Pure(1), 5, block_bits=-1), "leave it out"),
    "half a block": (lambda: local.hadamard_response(Pure(1), 5, block_bits=0.5), "leave it out"),  # type: ignore[arg-type]
    "table as text": (lambda: local.linear_hash(Pure(1), "16"), "table_bits must be a whole number"),  # type: ignore[arg-type]
    "symbols as text": (lambda: local.linear_hash(Pure(1), 16, symbol_bits="2"), "symbol_bits must"),  # type: ignore[arg-type]
    "no users": (lambda: heavy_hitters.hashtogram(Pure(1), 0), "users must be at least 1"),
    "no functions": (lambda: heavy_hitters.local_hash(Pure(1), 5, functions=0), "functions must be at least 1"),
}


@pytest.mark.parametrize(("make", "said"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_in_public_sizes_are_refused(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        make()


@pytest.mark.parametrize("maker", [heavy_hitters.bitstogram_method, heavy_hitters.expander_method])
def test_a_method_for_other_items_says_which_one_to_make(maker: Any) -> None:
    method = maker(Pure(4), 30, 100_000)
    with pytest.raises(ParameterError, match=rf"{maker.__name__}\(spend, 16, reports\)"):
        method.encoder(Seed(bytes(32)), Items(domain.integers(0, 2**16 - 1)))


@pytest.mark.parametrize(
    ("maker", "part"), [(heavy_hitters.bitstogram_method, "oracle"), (heavy_hitters.expander_method, "cells")]
)
def test_a_plan_with_an_oracle_that_does_not_fit_says_which_one_does(maker: Any, part: str) -> None:
    method = maker(Pure(4), 30, 100_000)
    record = {**method.to_json(), part: local.response(Pure(1), 3).to_json()}
    with pytest.raises(ParameterError, match="of the kind"):
        type(method).from_json(record)
