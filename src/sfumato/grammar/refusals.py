"""What is said of a word that does not belong where it stands: the word, its place, and what may be written."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.grammar.tokens import Token
from sfumato.grammar.words import KEYWORDS, RESERVED
from sfumato.words import guide

_JOINS = "write JOIN … ON …"
_ONE = "ask one SELECT"
_COMPUTED = "compute it in the table and declare it as a column"

INSTEAD = guide(
    {
        # words of wider SQL: what is written here
        "CROSS FULL RIGHT SEMI ANTI ASOF NATURAL USING LATERAL POSITIONAL STRAIGHT_JOIN": _JOINS,
        "OVER QUALIFY WINDOW PARTITION": "windows look at other rows; aggregate per person in WITH, "
        "or use answer.frame",
        "EXISTS ANY SOME": "write it as a WITH, one row a person, and compare its column",
        "UNION INTERSECT EXCEPT MINUS INSERT UPDATE DELETE DROP CREATE ALTER COPY ATTACH PRAGMA SET": _ONE,
        "ROLLUP CUBE GROUPING SETS": "write the keys",
        "ALL": "leave it out; in GROUP BY write the keys",
        "YEAR QUARTER MONTH DAY": "write EXTRACT(YEAR FROM x); as the name of an output it comes after AS",
        "COUNT_IF COUNTIF SUM_IF SUMIF": "write COUNT(*) FILTER (WHERE …)",
        "DATEDIFF DATE_DIFF DATE_SUB DATE_ADD AGE": "write date - date, or date + 30, in days",
        "CORR COVAR_POP COVAR_SAMP REGR_SLOPE": "write AVG(x), AVG(y) and AVG(x * y), and compute it from them",
        "JOIN LEFT": "a select in brackets reads released numbers; write it as a WITH, one row a person, and join that",
        "OFFSET FETCH TOP": "write LIMIT",
        "HAVING": "inside WITH there is none; write WHERE on the table of WITH, outside of it",
        "DISTINCT": "write the keys in GROUP BY; only persons are counted as distinct, by COUNT(DISTINCT person)",
        "NULLS": "leave it out; missing values come last",
        "TABLESAMPLE SAMPLE PIVOT UNPIVOT UNNEST VALUES": "leave it out",
        "CAST TRY_CAST CONVERT SUBSTR SUBSTRING UPPER LOWER TRIM CONCAT REPLACE LENGTH": _COMPUTED,
        "RANDOM RAND NOW CURRENT_DATE CURRENT_TIMESTAMP DATE_TRUNC STRFTIME UUID": _COMPUTED,
        "LIKE ILIKE SIMILAR GLOB REGEXP RLIKE": "list the values, as in city IN ('Bern', 'Basel')",
        "SELECT": "write it as a WITH, one row a person, and compare its column",
        "COLLATE INTERVAL": _COMPUTED,
        "ISNULL NOTNULL": "write IS NULL, or IS NOT NULL",
        "STDDEV STDEV STD": "write STDDEV_SAMP or STDDEV_POP",
        "VARIANCE VAR": "write VAR_SAMP or VAR_POP",
        "MEAN AVERAGE": "write AVG",
        "QUANTILE PERCENTILE PERCENTILE_CONT QUANTILE_DISC PERCENTILE_DISC WITHIN": "write QUANTILE_CONT(x, 0.5)",
        "MOD": "write FLOOR(a / k)",
        "CEIL CEILING": "write -FLOOR(-a)",
        "IF IFF IIF": "write CASE WHEN … THEN … ELSE … END",
        "IFNULL NVL": "write COALESCE(a, b)",
    }
)


def sentence(token: Token, before: str, wanted: Sequence[str]) -> str:
    """Return what is said of a token that is none of the words wanted."""
    may = _listed(wanted)
    if token.kind == "end":
        return (
            f"It ends where {may} should come; write on after {before!r}."
            if before
            else f"Nothing is written; {may} should come."
        )
    shown = f"'{token.text}'" if token.kind == "text" else f'"{token.text}"' if token.kind == "quoted" else token.text
    place = f"`{shown[:40]}` (character {token.at})"
    word = token.text.upper()
    if token.kind == "name" and word in INSTEAD:
        return f"{place} is not understood here; {INSTEAD[word]}."
    if token.kind == "sign" and word == "*":
        return f"{place} is not understood here; rows are not released: write aggregates, or GROUP BY x."
    if token.kind == "sign" and word == "," and "the end" in wanted:
        return f"{place} is not understood here; after a table {_JOINS}."
    if token.kind == "sign" and word == before == "=":
        return f"{place} is not understood here; write = in place of ==."
    if token.kind == "sign" and word == ";":
        return f"{place} is not understood here; {_ONE}."
    if token.kind == "sign" and word == "(" and before.upper() == "JOIN":
        return f"{place} is not understood here; write the sub-query as a WITH, one row a person, and join that."
    after = f" after `{before[:40]}`" if before else " first"
    alias = word in KEYWORDS and word not in RESERVED and "FROM" in wanted
    named = "; as the name of an output it comes after AS" if alias else ""
    return f"{place} is not understood here;{after} comes {may}{named}."


def _listed(wanted: Sequence[str]) -> str:
    shown = list(wanted)
    if len(shown) > 8:
        shown = [*shown[:7], "…"]
    return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
