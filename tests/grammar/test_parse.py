from __future__ import annotations

import random  # noqa: TID251  made-up statements, and no noise

import pytest

from sfumato.errors import ParameterError
from sfumato.grammar import parse_condition, parse_statement, printed
from tests.grammar.mutants import PLAIN, mutant, written


def _accounted(count: int, seed: int) -> tuple[int, int]:
    """Parse mutants: every accepted one prints as it was written, and different texts are different trees."""
    rng, accepted = random.Random(seed), 0
    trees: dict[object, list[str]] = {}
    for _ in range(count):
        text = mutant(rng)
        try:
            tree = parse_statement(text)
        except ParameterError:
            continue
        accepted += 1
        tokens = written(text)
        assert written(printed(tree)) == tokens, text
        assert trees.setdefault(tree, tokens) == tokens, text
        assert parse_statement(printed(tree)) == tree
    return accepted, len(trees)


def test_no_word_of_an_accepted_statement_is_lost() -> None:
    accepted, different = _accounted(3_000, 1)
    assert accepted > 80 and different > 50


@pytest.mark.audit
def test_no_word_of_a_hundred_thousand_statements_is_lost() -> None:
    import time

    start = time.process_time()
    accepted, _ = _accounted(100_000, 2)
    assert accepted > 3_000
    assert time.process_time() - start < 60


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_printed_is_the_same_tree(text: str) -> None:
    tree = parse_statement(text)
    assert parse_statement(printed(tree)) == tree


def test_a_parser_that_skips_a_token_is_seen() -> None:
    # A twin that drops tokens it does not know, as lenient parsers do, loses words of accepted statements.
    rng, lost = random.Random(3), 0
    for _ in range(2_000):
        text = mutant(rng)
        lenient = text.replace("ALL", "").replace("FULL", "").replace("? ", "")
        if lenient == text:
            continue
        try:
            tree = parse_statement(lenient)
        except ParameterError:
            continue
        lost += written(printed(tree)) != written(text)
    assert lost > 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (5, "is text"),
        ("", "Nothing is written"),
        ("SELECT", "ends"),
        ("SELECT COUNT(*) FROM a" + " " * 20_000, "20000"),
        ("SELECT " + "(" * 50 + "1" + ")" * 50 + " FROM a", "flatter"),
        ("SELECT " + " + ".join(["x"] * 300) + " FROM a", "200"),
        ("SELECT 'a FROM a", "close the text"),
        ('SELECT "a FROM a', "close the name"),
        ("SELECT COUNT(*) /* FROM a", "not closed"),
        ("SELECT COUNT(*) /*+ hint */ FROM a", "hint"),
        ("SELECT COUNT(*) FROM a \x00", "NUL"),
        ("SELECT * FROM a", "rows are not released"),
        ("SELECT COUNT(*) FROM a, b", "JOIN … ON"),
        ("SELECT COUNT(*) FROM a CROSS JOIN b", "JOIN … ON"),
        ("SELECT COUNT(*) FROM a TABLESAMPLE (3)", "TABLESAMPLE"),
        ("SELECT SUM(x) OVER () FROM a", "windows"),
        ("SELECT COUNT(*) FROM a QUALIFY 1", "windows"),
        ("SELECT COUNT(*) FROM a FINAL", "FINAL"),
        ("SELECT COUNT(*) FROM a STRAIGHT_JOIN", "JOIN"),
        ("SELECT x FROM a WHERE x IN (1, , 2)", "`,`"),
        ("SELECT x FROM a WHERE x IN (SELECT y FROM b)", "WITH"),
        ("SELECT x FROM a WHERE EXISTS (SELECT 1)", "WITH"),
        ("SELECT COUNT(*) FROM a; SELECT 1", "SELECT"),
        ("SELECT COUNT(*) FROM a UNION SELECT 1", "one SELECT"),
        ("DROP TABLE a", "one SELECT"),
        ("SELECT DISTINCT x FROM a", "GROUP BY"),
        ("SELECT ALL x FROM a", "write the keys"),
        ("SELECT x::int FROM a", "declared as a column"),
        ("SELECT CAST(x AS INT) FROM a", "declare it as a column"),
        ("SELECT x // 2 FROM a", "FLOOR"),
        ("SELECT x % 2 FROM a", "FLOOR"),
        ("SELECT x || 'a' FROM a", "OR"),
        ("SELECT COUNT(*) FROM a WHERE x LIKE 'a%'", "IN ("),
        ("SELECT COUNT(*) FROM a WHERE x = ?", "value itself"),
        ("SELECT COUNT(*) FROM a WHERE x = $1", "value itself"),
        ("SELECT SUM(DISTINCT x) FROM a", "DISTINCT"),
        ("SELECT COUNT(*) FROM a GROUP BY ROLLUP (x)", "keys"),
        ("SELECT COUNT(*) FROM a GROUP BY ALL", "write the keys"),
        ("SELECT x FROM a ORDER BY x NULLS FIRST", "missing values come last"),
        ("SELECT x FROM a LIMIT 3 OFFSET 2", "LIMIT"),
        ("SELECT STDDEV(x) FROM a", "STDDEV_SAMP"),
        ("SELECT IF(x, 1, 2) FROM a", "CASE"),
        ("SELECT COUNT(*) FROM a WHERE a = b < c", "`<`"),
        ("SELECT COUNT(*) FROM a WHERE x BETWEEN SYMMETRIC 1 AND 2", "SYMMETRIC"),
        ("SELECT random() FROM a", "column"),
        ("SELECT COUNT(*) FROM read_csv('x')", "`(`"),
        ("SELECT COUNT(*) FROM (VALUES (1))", "VALUES"),
        ("WITH p AS (SELECT x FROM a) SELECT COUNT(*) FROM p", "one row a person"),
        ("SELECT 12abc FROM a", "number"),
        ("SELECT COUNT(*) FROM select", "write it as a WITH"),
        ("SELECT a b c FROM t", "`c`"),
        ("SELECT COUNT(*) FROM a RIGHT JOIN b ON x = y", "JOIN … ON"),
        ("SELECT COUNT(*) FROM a JOIN b USING (x)", "JOIN … ON"),
        ("SELECT COUNT(*) $1 FROM a", "value itself"),
        ("SELECT SUM(ALL x) FROM a", "write the keys"),
        ("SELECT COUNT(*) AS 'x' FROM a", "a name"),
    ],
)  # fmt: skip
def test_what_is_not_in_the_grammar_does_not_parse(text: str, said: str) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_statement(text)
    assert said in str(refused.value), str(refused.value)


def test_conditions_have_brackets_only_where_they_were_written() -> None:
    assert printed(parse_condition("a + 2 * b > -c and not (d is null or e not between 1 and 2)")) == (
        "a + 2 * b > - c AND NOT (d IS NULL OR e NOT BETWEEN 1 AND 2)"
    )


def _expression(rng: random.Random, depth: int) -> tuple[str, str]:
    """Return an expression of numbers and truth values as it may be written, and with all brackets."""
    if depth == 0:
        name = rng.choice(["x", "y", "2", "3"])
        return name, name
    if rng.random() < 0.2:
        text, full = _expression(rng, depth - 1)
        return f"({text})", full
    sign = rng.choice(["+", "-", "*"])
    parts = [_expression(rng, depth - 1) for _ in range(2)]
    return f"{parts[0][0]} {sign} {parts[1][0]}", ""


def _bracketed(node: object) -> str:
    from sfumato.grammar import tree

    if isinstance(node, tree.Brackets):
        return _bracketed(node.inside)
    if isinstance(node, tree.Chain):
        found = _bracketed(node.parts[0])
        for sign, part in zip(node.signs, node.parts[1:], strict=True):
            found = f"({found} {sign} {_bracketed(part)})"
        return found
    if isinstance(node, tree.Comparison):
        return f"({_bracketed(node.left)} {node.sign} {_bracketed(node.right)})"
    if isinstance(node, tree.Not):
        return f"(NOT {_bracketed(node.of)})"
    return printed(node)


def test_precedence_is_that_of_the_engine() -> None:
    _compared(5, 300)


@pytest.mark.audit
def test_precedence_of_many_expressions_is_that_of_the_engine() -> None:
    _compared(6, 5_000)


def _compared(seed: int, many: int) -> None:
    import duckdb

    rng = random.Random(seed)
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT * FROM (VALUES (1, 2), (3, NULL), (-2, 5), (0, 0), (NULL, 1)) AS v(x, y)"
    )
    for _ in range(many):
        left, right, other = (_expression(rng, rng.randrange(4))[0] for _ in range(3))
        text = f"NOT {left} < {right} AND {other} > 1 OR {right} = {other}"
        full = _bracketed(parse_condition(text))
        rows = connection.execute(f"SELECT ({text}) IS NOT DISTINCT FROM ({full}) FROM t").fetchall()
        assert all(same for (same,) in rows), text
