from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serve.houses import Site, add_accounts, open_site, write_house


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    house = write_house(tmp_path_factory.mktemp("house"))
    client, made = open_site(house, add_accounts(house))
    with client:
        yield made
