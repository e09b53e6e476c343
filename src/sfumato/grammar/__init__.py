"""The language of statements and conditions: tokens, trees, the parser, and printing (SQ-PARSE).

>>> from sfumato.grammar import parse_condition, printed
>>> printed(parse_condition("age>40 and sex in ('f')"))
"age > 40 AND sex IN ('f')"
"""

from sfumato.grammar.parse import parse_condition, parse_statement
from sfumato.grammar.printing import printed

__all__ = ["parse_condition", "parse_statement", "printed"]
