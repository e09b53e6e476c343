"""Options that several commands share are written once, and a command has those that it names."""

from __future__ import annotations

import inspect

import pytest

from sfumato.cli.opened import ALL, MACHINE, Opened, opens


def listed(command: object) -> list[str]:
    return list(inspect.signature(command).parameters)  # type: ignore[arg-type]


def test_a_command_has_the_options_that_it_names_where_its_parameter_stands() -> None:
    found: list[Opened] = []

    @opens("table", *MACHINE)
    def command(data: str, *, opened: Opened, as_json: bool = False) -> None:
        found.append(opened)

    assert listed(command) == ["data", "table", "memory_limit", "temp_directory", "most_rows", "as_json"]
    command("people.csv", memory_limit="8GB", most_rows=10)
    command("people.csv", as_json=True)
    assert found == [Opened(memory_limit="8GB", most_rows=10), Opened()]
    assert found[0].named(*MACHINE) == {"memory_limit": "8GB", "temp_directory": None, "most_rows": 10}
    assert found[0].resources.memory == 8 * 2**30 and found[0].resources.most_rows == 10
    with pytest.raises(TypeError, match="snapshot"):
        command("people.csv", snapshot="june")


def test_every_option_is_handed_on_once() -> None:
    @opens(*ALL)
    def command(*, opened: Opened) -> None:
        assert vars(opened) == {name: name for name in ALL}

    command(**{name: name for name in ALL})  # type: ignore[arg-type]
