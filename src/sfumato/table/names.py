"""What the name of a column tells everybody: its usual type, whether it tells people apart, whether it names them."""

from __future__ import annotations

import re
from typing import Any

from sfumato.domain import SKIP

FILL = "you must fill this in"
"""What a draft writes where only a person who knows the data can write."""
LEFT_OUT = "Left out is "
"""How a note begins that says why a column is not in the draft."""
ROWS_PROPOSED = "With rows_per_person ="
"""How a note begins that is about a proposed number of rows a person."""
NOBODY = "No column tells people apart by its name"
"""How a note begins that says that every row is taken for one person."""
PERHAPS = "repeats"
"""The word of a note that asks whether a column tells people apart."""
MODELS_NEED_ONE = "Models (`learn`) need rows_per_person = 1 here before the ledger is made."
"""What a draft says of rows a person to whoever wants to predict."""

CODE = "A code of digits is no number: a mean of postcodes says nothing, and a leading zero would be lost."
CODE_IN_DECIMALS = (CODE, "Its cells are decimals here, which no category reads: turn them into text before.")
CODE_BYTES = 12
"""So long a text holds a postcode of any country."""

_WORDS = {
    # what a word in a name says: the words
    "people": "person patient user customer client member subject participant respondent employee staff student pupil "
    "citizen resident household account device borrower applicant driver donor worker tenant kunde mitarbeiter schüler "
    "leser versicherter lecteur élève salarié adhérent abonné assuré usager lector alumno empleado cliente paciente "
    "usuario socio afiliado utente dipendente",
    "keys": "id ids no nr num number key code ref hash uuid guid nummer numero número numéro",
    "keys in front": "id n nr número numéro numero nummer code key uuid",
    "key of people": "pid uid mrn userid patientid customerid personid",
    "naming": "mail email phone telephone tel mobile fax surname lastname firstname forename iban ssn passport ip "
    "address street signature login username url website contact",
    "of a name": "first last full family given middle maiden patient customer person employee",
    "codes": "zip zipcode plz postcode postal postleitzahl eircode pincode ags nuts icd ean isbn gtin",
    "codes alone": "cap cp pin ops",
    "yes or no": "is has was can did",
}
_SAYS = {meaning: frozenset(words.split()) for meaning, words in _WORDS.items()}
_BY_WORD = {
    # type: words, of which one ends the name
    "date": "date datum fecha born birthday birthdate dob admitted discharged day aufnahme entlassung geburtstag "
    "geburtsdatum",
    "time": "timestamp datetime at time",
    "boolean": "flag yn active deceased smoker married insured",
    "integer": "year jahr n num count visits children hours minutes days weeks months quantity score rating rooms",
    "fixed": "amount cost costs price income salary wage pay charge fee balance loan rate weight height bmi percent "
    "temperature total value revenue betrag preis kosten lohn gehalt umsatz einkommen eur usd chf gbp kg cm",
    "text": "comment comments note notes text description message remarks",
}
_KINDS = {word: kind for kind, words in _BY_WORD.items() for word in words.split()}
_AGES = {"age", "alter", "edad", "âge", "idade", "età"}
_NO_CLOCK = {(word, "time") for word in ("full", "part", "half", "first")}
"""Words of a kind of work, or of a first visit: none tells a time of day."""

_OPEN = {
    # type: what only somebody who knows the data can write
    "integer": ("low", "high"),
    "fixed": ("low", "high", "step"),
    "date": ("earliest", "latest"),
    "time": ("earliest", "latest"),
    "text": ("max_bytes",),
    "boolean": (),
}


def is_person(name: str) -> bool:
    """Tell whether a name says that the column tells people apart.

    >>> is_person("patient_id"), is_person("CustomerID"), is_person("visit_id"), is_person("customer_rating")
    (True, True, False, False)
    >>> is_person("id_client"), is_person("N° lecteur"), is_person("Kundennummer"), is_person("Hausnummer")
    (True, True, True, False)
    """
    first, *rest = words = _words(name)
    if first in _SAYS["key of people"] or _is_numbered(name):
        return True
    if rest and words[-1] in _SAYS["people"] and all(word in _SAYS["keys in front"] for word in words[:-1]):
        return True
    return first in _SAYS["people"] and all(word in _SAYS["keys"] for word in rest)


def _is_numbered(name: str) -> bool:
    """Tell whether a name is one word of a kind of people and of their number, as in Kundennummer."""
    found = re.fullmatch(r"([^\W\d_]+)(nummer|nr|id)", name.strip().lower())
    return found is not None and any(found[1].removesuffix(joint) in _SAYS["people"] for joint in ("", "n", "en", "s"))


def is_key_of_people(name: str) -> bool:
    """Tell whether a name says that its cells are keys of people, and not something about them.

    >>> is_key_of_people("patient_id"), is_key_of_people("uid"), is_key_of_people("household")
    (True, True, False)
    """
    first, *rest = _words(name)
    return is_person(name) and (bool(rest) or first in _SAYS["key of people"] or _is_numbered(name))


def may_be_person(name: str) -> bool:
    """Tell whether a name says that the column is a key, of people or of something else."""
    return is_person(name) or _words(name)[-1] in {"id", "nr", "no", "key", "uuid", "guid", "index"}


def names_somebody(name: str) -> bool:
    """Tell whether a name says that the column names or reaches a person, which no statistic needs.

    >>> names_somebody("e-mail"), names_somebody("last_name"), names_somebody("product name")
    (True, True, False)
    """
    words = _words(name)
    called = words[-1] == "name" and (len(words) == 1 or words[-2] in _SAYS["of a name"])
    return called or bool(_SAYS["naming"] & {*words, "".join(words)})


def is_code(name: str) -> bool:
    """Tell whether a name says that digits in the column are no amount: a postcode, or a key of something.

    >>> [is_code(name) for name in ("zip", "ZIP code", "code postal", "Postleitzahl", "plz_ort", "ward_id", "cost")]
    [True, True, True, True, True, True, False]
    """
    words = _words(name)
    if len(words) == 1 and words[0] in _SAYS["codes alone"]:
        return True
    return bool(_SAYS["codes"] & {*words, "".join(words)}) or words[-1] in ("code", "id", "nr")


def kind_by_name(name: str) -> dict[str, Any] | None:
    """Return what a name says about the type of a column of text; ages have a range that everybody knows.

    >>> kind_by_name("age"), kind_by_name("admission_date")["type"], kind_by_name("colour")
    ({'type': 'integer', 'low': 0, 'high': 120, 'missing': 'skip'}, 'date', None)
    """
    words = _words(name)
    if is_code(name):
        return None
    if words[0] in _SAYS["yes or no"] and len(words) > 1:
        return blank("boolean")
    if _AGES & {words[0], words[-1]}:
        return {**blank("integer"), "low": 0, "high": 120}
    if tuple(words[-2:]) in _NO_CLOCK:
        return None
    kind = _KINDS.get(words[-1])
    return None if kind is None else blank(kind)


def is_amount(name: str) -> bool:
    """Tell whether a name says that the column holds amounts, days or truth values, which tell nobody apart.

    >>> is_amount("loan_amount"), is_amount("hours"), is_amount("case_num"), is_amount("zper")
    (True, True, False, False)
    """
    kind = kind_by_name(name)
    return kind is not None and kind["type"] != "text" and _words(name)[-1] not in _SAYS["keys"]


def blank(kind: str) -> dict[str, Any]:
    """Return a column of some type with nothing filled in."""
    if kind == "category":
        return {"type": kind, "values": [FILL], "missing": SKIP}
    return {"type": kind, **dict.fromkeys(_OPEN[kind], FILL), "missing": SKIP}


def _words(name: str) -> list[str]:
    """Return the words of a name in small letters: CustomerID is customer, id."""
    divided = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W_]+", divided.lower()) or [""]
