"""Statements with a token inserted, dropped, replaced or doubled, from a pool of clauses of all dialects; and a tokenizer
of the tests' own, so that what the parser accepts can be compared with what was written."""

from __future__ import annotations

import random  # noqa: TID251  made-up statements, and no noise
import re

PLAIN = (
    "SELECT COUNT ( * ) FROM visits",
    "SELECT kind , COUNT ( * ) AS n FROM visits AS v WHERE cost > 3 AND kind IN ( 'a' , 'b' ) GROUP BY kind ORDER BY n DESC LIMIT 5 ;",
    "SELECT SUM ( cost * ( 1 - rate ) ) FROM visits JOIN places ON visits . place = places . place WHERE cost BETWEEN 1 AND 9",
    "WITH per AS ( SELECT patient , COUNT ( * ) AS n FROM visits WHERE year = 2025 GROUP BY patient ) SELECT AVG ( n ) FROM per",
    "SELECT p . sex , AVG ( COALESCE ( per . n , 0 ) ) AS visits , DP_INTERVAL_LOW ( 'visits' ) AS least FROM patients AS p LEFT JOIN per ON per . patient = p . patient GROUP BY p . sex HAVING visits > 50",
    "EXPLAIN SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ( epsilon = 1 , delta = 1e-8 ) CASE WHEN a = b OR NOT c < 2 THEN 1 ELSE 0 END FROM visits",
    "SELECT COUNT ( DISTINCT patient ) , SUM ( x ) FILTER ( WHERE y IS NOT NULL ) FROM visits",
    "SELECT EXTRACT ( YEAR FROM day ) AS y , QUANTILE_CONT ( x , 0.5 ) FROM visits WHERE day >= DATE '2020-01-01' GROUP BY 1",
    "SELECT AVG ( n ) FROM ( SELECT k , COUNT ( * ) AS n FROM visits GROUP BY k ) AS t WHERE n > 3 ORDER BY 1",
)

POOL = [
    "ALL",
    "ANY",
    "AS",
    "ASC",
    "AND",
    "ANTI",
    "ASOF",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COLLATE",
    "COUNT",
    "CROSS",
    "CUBE",
    "DATE",
    "DESC",
    "DISTINCT",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXTRACT",
    "FALSE",
    "FETCH",
    "FILTER",
    "FINAL",
    "FIRST",
    "FOR",
    "FORCE",
    "FROM",
    "FULL",
    "GLOB",
    "GROUP",
    "GROUPING",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "LATERAL",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MAX",
    "MEDIAN",
    "MIN",
    "NATURAL",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "OPTIONS",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PIVOT",
    "QUALIFY",
    "QUANTILE_CONT",
    "RIGHT",
    "ROLLUP",
    "ROUND",
    "SAMPLE",
    "SELECT",
    "SEMI",
    "SETS",
    "SIMILAR",
    "STRAIGHT_JOIN",
    "SUM",
    "SYMMETRIC",
    "TABLESAMPLE",
    "THEN",
    "TO",
    "TRUE",
    "UNION",
    "UNNEST",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
    "?",
    "$1",
    ":x",
    "::",
    "//",
    "%",
    "||",
    "!",
    "~",
    "^",
    "@",
    "#",
    "[",
    "]",
    "{",
    "}",
    ",",
    "(",
    ")",
    ".",
    ";",
    "=",
    "<>",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "=>",
    "1",
    "2.5",
    "1e3",
    "'a'",
    "''",
    '"q"',
    "x",
    "visits",
    "n",
    "/*+",
    "/*",
    "*/",
    "--",
]

NEUTRAL = {"AS", "INNER", "OUTER", "ASC"}
_TOKEN = re.compile(
    r"\s*(?:(\"(?:[^\"]|\"\")+\")|('(?:[^']|'')*')|([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?\.?)|([^\W\d]\w*)|(<>|!=|<=|>=|=>|.))"
)


def mutant(rng: random.Random) -> str:
    """Return a statement with one or two changes."""
    words = rng.choice(PLAIN).split(" ")
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.randrange(len(words))
        how = rng.randrange(4)
        if how == 0:
            words.insert(place, rng.choice(POOL))
        elif how == 1 and len(words) > 1:
            del words[place]
        elif how == 2:
            words[place] = rng.choice(POOL)
        else:
            words.insert(place, words[place])
    return " ".join(words)


def written(text: str) -> list[str]:
    """Return the tokens of a text without the six neutral ones, names folded: by rules of the tests' own."""
    bare = re.sub(r"--[^\n]*|/\*.*?\*/", " ", text)
    found = []
    for match in _TOKEN.finditer(bare.strip()):
        quoted, string, number, name, sign = match.groups()
        found.append(quoted or string or number or (name.upper() if name else None) or sign)
    found = ["<>" if one == "!=" else one for one in found if one not in NEUTRAL]
    return found[:-1] if found and found[-1] == ";" else found
