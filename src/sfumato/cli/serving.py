"""`sfumato serve` and `sfumato user …`: run the service of a house, and keep its accounts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import Json, Subcommands, commands_of
from sfumato.cli.outcome import emit, guarded
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.serve.house import House
    from sfumato.serve.identity import People

user_app = commands_of(Subcommands, "Accounts of a service: add, list, give new tokens, remove.")
HousePath = Annotated[Path, typer.Option("--house", help="The house that the account is for.")]
HOUSE = Path("house.toml")
MISSING = "The service needs more packages; run pip install 'sfumato[serve]'."
DEMO = """\
The demo will listen at {place}. Sign in there with one of these tokens, which are shown once:
{tokens}
Everything it keeps is in {folder}; start it again with --demo --folder {folder}. Ctrl-C ends it."""


def _require_packages() -> None:
    try:
        import fastapi  # noqa: F401
        import jinja2  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise ParameterError(MISSING) from None


@guarded
def serve_command(
    house: Annotated[Path | None, typer.Argument(help="The house.toml that says what is served.")] = None,
    *,
    demo: Annotated[bool, typer.Option("--demo", help="Serve the census of 1994 with three made-up accounts.")] = False,
    folder: Annotated[Path, typer.Option(help="Where the demo keeps its files.")] = Path("sfumato-demo-house"),
    host: Annotated[str | None, typer.Option(help="The address to listen at, instead of the one in the house.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen at, instead of the one in the house.")] = None,
    workers: Annotated[int, typer.Option(help="How many processes; with several the store is PostgreSQL.")] = 1,
) -> None:
    """Serve data sets to analysts who never see them: web pages and an HTTP interface."""
    _require_packages()
    if (house is None) != demo:
        raise ParameterError("Write sfumato serve house.toml, or sfumato serve --demo to look around.")
    if demo:
        from sfumato.serve.demo import make_demo

        made = make_demo(folder, host or "127.0.0.1", port or 8000)
        listed = "\n".join(f"  {name:6} {token}" for name, token in made.tokens.items())
        typer.echo(DEMO.format(place=_place(made.house), tokens=listed, folder=folder))
        house = folder / "house.toml"
    assert house is not None
    _run(house, host, port, workers)


def _place(house: House) -> str:
    shown = f"[{house.service.host}]" if ":" in house.service.host else house.service.host
    return f"http://{shown}:{house.service.port}"


def _require_shared(house: House) -> None:
    """Refuse a house that several processes cannot serve together."""
    if any(one.shuffled for one in house.collections):
        raise ParameterError(
            "A collection of shuffled batches is taken by one process; leave --workers out, or run that collection by "
            "itself: sfumato local serve COLLECTION --shuffled N."
        )
    if "://" not in house.service.store:
        raise ParameterError('Several processes share a store in PostgreSQL; write store = "$SFUMATO_STORE".')


def _run(path: Path, host: str | None, port: int | None, workers: int) -> None:
    import uvicorn

    from sfumato.serve.command import LOOPBACK
    from sfumato.serve.house import load_house
    from sfumato.serve.listening import listen
    from sfumato.serve.started import PATH, checked

    found = load_house(path)
    service = replace(found.service, host=host or found.service.host, port=port or found.service.port)
    house = replace(found, service=service)
    if workers > 1:
        _require_shared(house)
    checked(house)
    if service.host not in LOOPBACK and service.secure_cookies is not True:
        typer.echo("Note: put a proxy with TLS before the service; browsers keep its cookies to https.", err=True)
    for one in house.collections:
        if one.tokens is None and service.host not in LOOPBACK:
            said = f"Warning: whoever reaches {service.host} can send made-up reports to {one.name}; add tokens."
            typer.echo(said, err=True)
    PATH.set(path, host, port)
    options: dict[str, Any] = {
        "host": service.host,
        "port": service.port,
        "access_log": False,  # the service writes its own lines, without paths and addresses
        "log_level": "warning",
        "timeout_graceful_shutdown": 30,
        "limit_concurrency": 10 * service.waiting,
        "timeout_keep_alive": 20,
    }
    application, ends = "sfumato.serve.started:app", "Ctrl-C ends it, and what was asked is kept."
    if workers == 1:
        listen(application, f"Listening at {_place(house)}; {ends}", factory=True, **options)
        return
    typer.echo(f"Starting {workers} processes that will listen at {_place(house)}; {ends}", err=True)
    uvicorn.run(application, factory=True, workers=workers, **options)


@contextmanager
def _people(path: Path) -> Iterator[tuple[House, People]]:
    _require_packages()
    from sfumato.serve.house import load_house
    from sfumato.serve.identity import People
    from sfumato.serve.store import Store

    house = load_house(path)
    store = Store(house.service.store)
    try:
        yield house, People(store, house.service)
    finally:
        store.close()


def _token(name: str, token: str, as_json: bool) -> None:
    text = f"The token of {name}, shown this once:\n{token}"
    emit({"name": name, "token": token}, lambda: text, as_json)


@user_app.command("add")
@guarded
def add_command(
    name: Annotated[str, typer.Argument(help="Small letters and digits, as in ana.")],
    *,
    role: Annotated[str, typer.Option(help="curator, analyst or auditor.")],
    dataset: Annotated[list[str] | None, typer.Option(help="A data set that they may see; * for all of them.")] = None,
    house: HousePath = HOUSE,
    as_json: Json = False,
) -> None:
    """Make an account, and print its token once; only a hash of it is kept."""
    from sfumato.serve.identity import ALL

    with _people(house) as (known, people):
        for one in dataset or ():
            if one != ALL:
                known.dataset(one)
        token = people.add(name, role, dataset or [])
    _token(name, token, as_json)


@user_app.command("list")
@guarded
def list_command(house: HousePath = HOUSE, as_json: Json = False) -> None:
    """List the accounts."""
    from sfumato.show import table

    with _people(house) as (_, people):
        found = people.all()
    rows = [[one.name, one.role, ", ".join(sorted(one.datasets)).replace("*", "all")] for one in found]
    record = [{"name": one.name, "role": one.role, "datasets": sorted(one.datasets)} for one in found]
    emit(record, lambda: table("Accounts", ["name", "role", "data sets"], rows).text(), as_json)


@user_app.command("token")
@guarded
def token_command(name: str, house: HousePath = HOUSE, as_json: Json = False) -> None:
    """Make earlier tokens of an account worthless, and print a new one once."""
    with _people(house) as (_, people):
        people.revoke(name)
        token = people.token(name)
    _token(name, token, as_json)


@user_app.command("revoke")
@guarded
def revoke_command(name: str, house: HousePath = HOUSE, as_json: Json = False) -> None:
    """Make all tokens of an account worthless, and end its sessions."""
    with _people(house) as (_, people):
        count = people.revoke(name)
    emit({"name": name, "revoked": count}, lambda: f"{name} has no token any more.", as_json)


@user_app.command("remove")
@guarded
def remove_command(name: str, house: HousePath = HOUSE, as_json: Json = False) -> None:
    """End an account; what it asked stays in the ledgers, and its name stays taken."""
    with _people(house) as (_, people):
        people.remove(name)
    emit({"name": name, "removed": True}, lambda: f"{name} is gone; what they asked stays in the ledgers.", as_json)
