"""What others' catalogues want to know: a data package, the columns of CSV files, a record for registries."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from sfumato.ledger.units import Unit
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.publish.file import PublicationFile, TableSpec

REGISTRY = ("deployment_name", "purpose", "data_curator", "region")
"""What only the publisher knows; without them a record is a draft."""
MEDIA = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet", ".json": "application/json"}

UNKNOWN = (
    "Where a column that ends in known says false, there may be no row to average, or too few for this spend: the "
    "value is noise alone, and its interval is all that is known."
)
"""What is said of values that print calls not known."""

Resource = Mapping[str, Any]
"""What a data package says of one file."""


def resource_of(path: str, content: bytes) -> Resource:
    """Return what is said of a file: its hash, its size and, of CSV, its columns."""
    place = PurePosixPath(path)
    found: dict[str, Any] = {
        "name": str(place).replace("/", "-").replace("=", "-").replace(".", "-").lower(),
        "path": path,
        "hash": hash_of(content),
        "bytes": len(content),
        "mediatype": MEDIA[place.suffix],
    }
    if place.suffix == ".csv":
        found["schema"] = {"fields": [{"name": name, "type": kind} for name, kind in _columns(content)]}
    return found


def hash_of(content: bytes) -> str:
    """Return the digest of a file as data packages write it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def data_package(
    file: PublicationFile, promise: tuple[str, ...], resources: Sequence[Resource], note: str, facts: Sequence[str] = ()
) -> Any:
    """Return a data package: every file with its hash, its size and, of CSV, its columns."""
    found = {
        "name": file.name,
        "title": file.about.get("deployment_name", file.name),
        "description": " ".join(filter(None, (note, *promise, *facts))),
        "version": file.edition,
        "resources": list(resources),
    }
    return {**found, "licenses": [{"name": file.licence}]} if file.licence else found


def csv_metadata(spec: TableSpec, resource: Resource, band: str = "") -> Any:
    """Return what the columns of a table hold, as CSV on the Web says it; `band` says what 'all' is."""
    fields = resource["schema"]["fields"]
    marked = any(one["name"].endswith("_known") for one in fields)
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "dc:title": spec.name,
        "dc:description": " ".join(filter(None, (_ends(spec), band, UNKNOWN if marked else ""))),
        "null": "",
        "tableSchema": {"columns": [{"name": one["name"], "datatype": one["type"]} for one in fields]},
    }


def _ends(spec: TableSpec) -> str:
    said = f"{spec.phrase}. low and high are ends of 95 % intervals for each row, of the noise of privacy alone."
    if spec.running:
        said += f" Those with 'all' hold for all {'periods of a group' if spec.keys else 'rows'} at once."
    if spec.monotone:
        said += (
            " total_monotone is the nearest curve to total that never falls, for readability: it has no interval, "
            "and earlier values of it may move with later periods."
        )
    if spec.hide_below is not None:
        said += f" Values below {spec.hide_below} as published are left out, for readability and not for privacy."
    if spec.round_to is not None:
        said += f" Values are rounded to multiples of {spec.round_to}, ends outward."
    return said


def _columns(content: bytes) -> list[tuple[str, str]]:
    """Return names and types of a CSV file that was written here."""
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    found = []
    for place, name in enumerate(rows[0]):
        cells = [row[place] for row in rows[1:] if row[place] != ""]
        found.append((name, _kind(cells)))
    return found


def _kind(cells: list[str]) -> str:
    if cells and set(cells) <= {"true", "false"}:
        return "boolean"
    for kind, reads in (("integer", int), ("number", float)):
        try:
            for cell in cells:
                reads(cell)
        except ValueError:
            continue
        return kind if cells else "string"
    return "string"


def registry_record(file: PublicationFile, promise: tuple[str, ...]) -> str:
    """Return a record for a registry of deployments, as YAML; a draft as long as something only you know lacks."""
    unit, bound = file.budget.units[0] if file.budget.units else ("person", file.budget.person)
    assert bound is not None
    lacking = [name for name in REGISTRY if name not in file.about]
    record: dict[str, Any] = {
        "status": "Draft" if lacking else "Complete",
        **({"missing": lacking} if lacking else {}),
        **dict(file.about),
        "name": file.name,
        "edition": file.edition,
        "model": "Central",
        "privacy_unit": "person" if unit == "person" else f"person-{Unit.read(unit).said}",
        "privacy_unit_details": "All rows of one person." if unit == "person" else _details(file, Unit.read(unit)),
        **_parameters(bound),
        "release_type": "Many releases",
        "release_type_details": " ".join(filter(None, promise)),
        "data_source_type": "Dynamic",
        "access_type": "Non-interactive",
        "unprotected_quantities": "The declared file, the schema, and on which days something was published.",
        "late_data": f"A {file.one_period} is read {file.wait} days after its end; {_too_late(file)} is never read."
        if not file.revisions
        else f"A {file.one_period} is read {file.wait} days after its end, and again: {revisions_said(file)}",
        "composition": "Privacy filters, one for each period and limit; all adaptive.",
        "post_processing": [f"{one.name}: {_ends(one)}" for one in file.tables],
        "mechanisms": [f"{one.name}: {_mechanism(one)}" for one in file.tables],
    }
    return "".join(_yaml(name, value) for name, value in record.items())


def _details(file: PublicationFile, unit: Unit) -> str:
    zone = "" if file.zone is None else f" of {file.zone.key}"
    time = f"whose {file.stamp} lies in one {replace(unit, column='').said}{zone}" if unit.period else ""
    value = f"that have one value of {unit.column}" if unit.column else ""
    return f"All rows of one person {' and '.join(filter(None, (time, value)))}, whenever they arrive."


def _too_late(file: PublicationFile) -> str:
    return f"what arrives more than {file.lateness} days late" if file.lateness else "what arrives later"


def revisions_said(file: PublicationFile) -> str:
    """Say when which tables are published again; the first release of each stays what it is."""
    said = [f"{', '.join(one.spend)} {one.after} days after the end (revision={one.name})" for one in file.revisions]
    return f"{'; '.join(said)}. Each is a release of its own beside the first one, and is paid for."


def _mechanism(spec: TableSpec) -> str:
    if not spec.running:
        return spec.phrase
    if spec.rule is not None:
        return f"PB-MEMORY, at most {spec.rule.most} periods of a person"
    return "PB-TREE" if spec.pure else "PB-CONTINUAL"


def _parameters(bound: Bound) -> dict[str, Any]:
    match bound:
        case Pure():
            return {"variant_name": "Pure", "privacy_parameters": {"epsilon": float(bound.epsilon)}}
        case Approximate():
            numbers = {"epsilon": float(bound.epsilon), "delta": float(bound.delta)}
            return {"variant_name": "Approximate", "privacy_parameters": numbers}
        case Concentrated():
            return {"variant_name": "Zero-concentrated", "privacy_parameters": {"rho": float(bound.rho)}}
        case Truncated():
            numbers = {"rho": float(bound.rho), "omega": float(bound.omega)}
            return {"variant_name": "Truncated concentrated", "privacy_parameters": numbers}
    raise AssertionError(f"{type(bound).__name__} is a bound without a name.")


def _yaml(name: str, value: Any) -> str:
    """Return one entry; texts are quoted as in JSON, which YAML reads."""
    if isinstance(value, Mapping):
        return f"{name}:\n" + "".join(
            f"  {key}: {json.dumps(part, ensure_ascii=False)}\n" for key, part in value.items()
        )
    if isinstance(value, list):
        return f"{name}:\n" + "".join(f"  - {json.dumps(part, ensure_ascii=False)}\n" for part in value)
    return f"{name}: {json.dumps(value, ensure_ascii=False)}\n"
