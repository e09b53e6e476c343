"""Sentences that were written for Python, as somebody at a shell would write what they say."""

from __future__ import annotations

import re
from collections.abc import Callable

_BOUND = r"((?:Pure|Concentrated|Truncated|Approximate)\([^()]*\)(?:\.per_attribute\(\))?)"
_CLASSES = r"classes=\('?([^'(),]*)'?, '?([^'(),]*)'?\)"
_LEARNING: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    # the same for `sfumato learn`, whose options say what stands behind a question elsewhere
    (rf"(from two to \d+\) meant by ){_CLASSES}", r'\1--with "linear(classes=\2|\3)"'),
    (_CLASSES, r'--with "threshold(classes=\1|\2)"'),
    (r"\btake PrivateLinearRegressor\b", "write --with regression"),
    (r"\btake PrivateLinearClassifier\b", "write --with linear"),
    (
        r"write features=\['age', 'hours'\], target='income'",
        "write sfumato learn people.csv people.toml income --from age,hours, where income is what is learned",
    ),
    (r"missing=\{([^}]*)\} where it is learned", lambda found: f'--missing "{_fills(found[1])}"'),
    (r"\bmissing=(?= speaks of)", "--missing"),
]
_HINTS: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    # what a sentence says in Python: what is typed at a shell; the first lines are the most particular ones
    (r"(?:for example )?spend=Pure\(0\.1\), or curator\.share\(0\.1\)[^.;]*", '--spend "Pure(0.1)"'),
    (r", a postgresql:// address, an Arrow table, a pandas or polars frame, a Spark frame, or an Ibis table",
     " or a postgresql:// address"),
    (r"write another name, or overwrite=True", "write another name after --out, or --force"),
    (r"curator\.of\('([^']*)', stamp='([^']*)'\)\.count\(…\)", r"--of \1 --stamp \2"),
    (r"Budget\(person='none', units=\{'day': Pure\(1\)\}\)", '--person none --units "day=Pure(1)"'),
    (r"interval\(0\.95, together=True\) holds", "with --together they hold"),
    (r"to make one, give its budget, for example Budget\(person=Pure\(3\)\), or run (sfumato ledger create .*) "
     r"--person 'Pure\(3\)' --schema", r'make it once by \1 --person "Pure(3)" --schema'),
    (rf"make a ledger with {_BOUND}, which pays", r'make a ledger by ledger create --person "\1", which pays'),
    (r"curator\.quantiles\('(\w+)', by='(\w+)', spend=Pure\(0\.1\)\)",
     r"`sfumato query … 'quantiles of \1 by \2'`"),
    (r"curator\.quantiles\('(\w+)', by=\[([^\]]*)\], spend=Pure\(0\.1\)\)",
     lambda found: f"`sfumato query … 'quantiles of {found[1]} by {_fills(found[2])}'`"),
    (rf"spend={_BOUND}", r'--spend "\1"'),
    (r"ask them at once with curator\.answer",
     "ask each as `sfumato query … \"count where …\"`, or all counts of some columns at once as `sfumato query … "
     "\"tables 2 of COLUMN, COLUMN\"`"),
    (r"write curator\.synthesize\(…\)", "ask `sfumato query … \"synthesize COLUMN, COLUMN\"`"),
    (r"\bhistogram\('([^']*)', keys='private'\)", r"'histogram of \1 found privately'"),
    (r"curator\.converse\(…, prior='model'\)", "add --prior model"),
    (r"write keys='private'", "add 'found privately'"),
    (r"keys='private'", "'found privately'"),
    (r"ledger\.fail\('([^']*)'\)", r"`sfumato ledger give-up LEDGER \1`"),
    (r"ledger\.verify\(\)", "`sfumato ledger verify LEDGER`"),
    (r"curator\.refit\('[^']*'\)", "asking the same question again"),
    (r",? same_data=True", " --same-data"),
    (r"snapshot='([^']*)'", r"--snapshot \1"),
    (r"\b(table|private|snapshot|analyst|ledger|population)=(?=[ .,;:])", r"--\1"),
    (r"\bmemory_limit=(?=[ .,;:])", "--memory-limit"),
    (r"\bmost_rows=(?=[ .,;:])", "--most-rows"),
    (r"\btemp_directory(?== | ')", "--temp-directory"),
    (r"sf\.draft\('([^']*)'\)|draft_schema\(source\)", r"sfumato init \1"),
    (r"schema\.with_columns\(.*?_bins=bins\('([^']*)', step=…\)\)",
     r'[columns.\1_bins] with the lines type = "bins", of = "\1" and step = …'),
    (r"bins\('([^']*)', edges=\[…\]\) in the schema",
     r'[columns.\1_bins] with the lines type = "bins", of = "\1" and edges = […] in the schema'),
    (r"\bhistogram\(\[([^\]]*)\]\)", lambda found: f"'histogram of {_fills(found[1])}'"),
    (r"GroupBy\('sex', \[Count\(\), Mean\('age'\)\]\)", "'count, mean of age by sex'"),
    (r"\b(Sum|Mean|Variance|Histogram|Distribution)\('(\w+)'\)", lambda found: f"'{found[1].lower()} of {found[2]}'"),
    (r"People\('([^']*)'\)", r"'people where \1'"),
    (r"Quantiles\('(\w+)', 0\.5\)", r"'median of \1'"),
    (r"curator\.(mean|sum|variance|histogram|median)\('(\w+)'[^)]*\)", r"'\1 of \2'"),
    (rf"(from two to \d+\) meant by ){_CLASSES}", r"\1'with linear(classes=\2|\3)'"),
    (_CLASSES, r"'with threshold(classes=\1|\2)'"),
    (r"\btake PrivateLinearRegressor\b", "write 'with regression'"),
    (r"\btake PrivateLinearClassifier\b", "write 'with linear'"),
    (r"missing=\{([^}]*)\} where it is learned", lambda found: f"'missing {_fills(found[1])}' behind the question"),
    (r"fair\.compare_file\('([^']*)', '([^']*)'\)", r"sfumato fair compare \1 --by \2"),
    (r"fair\.group_report, and of a file by fair\.compare_file\.", "`sfumato fair compare`."),
    (r"\bfavourable=(\S+|'[^;]*') if it is", r"--favourable \1 if it is"),
    (r"\b(favourable|deserving)=(True|False), if that", lambda found: f"'with {found[1]}={found[2].lower()}', if that"),
    (r"\bare False, True(?=[.,])", "are false, true"),
    (r"\b(favourable|deserving)=('?)([^';]+)\2, if that", r"'with \1=\3', if that"),
    (r"\b(group|favourable|deserving|metric|segments|label)=(?=[ .,;:])", r"--\1"),
    (r"\b(segments|label)='(\w+)'", r"--\1 \2"),
    (r"\bmissing= in the domain\b", "missing = … in the schema"),
    (r"\brehearse shows it\b", "--rehearse shows it"),
    (r", or all of them by columns=one_hot\(schema, \[[^\]]*\]\)", ""),
    (r"by columns=one_hot\(schema, \['job', …\]\)", "as 'job=clerk'"),
    (r"where= ", "where "),
    (r"where=\"([^\"]*)\"|where='([^']*)'", lambda found: f"where {found[1] or found[2]}"),
    (r"\bby='(\w+)'", r"by \1"),
]  # fmt: skip


def _fills(pairs: str) -> str:
    """Return the pairs of a mapping as the shell writes them."""
    return re.sub(r"'([^']*)'", r"\1", pairs).replace(": ", "=")


def in_shell(sentence: str, command: str = "") -> str:
    """Return a sentence with its hints in the language of the shell, and of a command with options of its own.

    >>> in_shell("Mean costs something; write spend=Pure(0.1).")
    'Mean costs something; write --spend "Pure(0.1)".'
    """
    for python, shell in [*(_LEARNING if command == "learn" else ()), *_HINTS]:
        sentence = re.sub(python, shell, sentence)
    return sentence
