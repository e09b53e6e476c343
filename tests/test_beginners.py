"""What people type in their first hour: understood, or one sentence of this house that says the word to write.

Collected from how analysts of hospitals, and users of pandas, SQL, OpenDP, diffprivlib and Tumult would begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pytest

import sfumato as sf
from sfumato import Approximate, Budget, Concentrated, Pure
from sfumato.curator.typed import read_request
from sfumato.curator.words import in_own_words
from sfumato.errors import SfumatoError
from sfumato.model import Factored
from sfumato.workload import Space

ROWS = 300
DATA = pandas.DataFrame(
    {
        "age": [18 + row % 70 for row in range(ROWS)],
        "sex": ["F", "M"] * (ROWS // 2),
        "department": ["surgery", "cardiology", "maternity"] * (ROWS // 3),
        "cost": [row * 1.5 for row in range(ROWS)],
        "admitted": [f"2025-03-{1 + row % 28:02}" for row in range(ROWS)],
        "note": [f"note {row}" for row in range(ROWS)],
    }
)
SCHEMA = sf.Schema(
    {
        "age": sf.integers(0, 120),
        "sex": sf.categories("F", "M"),
        "department": sf.categories("surgery", "cardiology", "maternity"),
        "cost": sf.fixed(0, 1000, step=0.5),
        "admitted": sf.dates("2025-01-01", "2025-12-31"),
        "note": sf.text(max_bytes=20),
    }
)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    place = tmp_path_factory.mktemp("first")
    (place / "visits.csv").write_text("patient;age;sex\n1;30;F\n2;40;M\n")
    (place / "visits.txt").write_text("age\n3\n")
    (place / "visits.xlsx").write_text("")
    (place / "latin.csv").write_bytes("name\nJos\xe9\n".encode("latin-1"))
    (place / "twice.csv").write_text("age,age\n1,2\n")
    tight = sf.Budget(Pure(2), attributes={"age": Pure(1), "sex": Pure(1)}, secrets=SCHEMA.secrets)
    whose = sf.Schema(SCHEMA.columns, person="patient_id")
    patients = DATA.assign(patient_id=range(ROWS))
    many = sf.Schema({"cost": sf.fixed(0, 5000, step="0.01")})
    with (
        sf.curate(DATA, SCHEMA, Pure(50)) as curator,
        sf.curate(DATA, SCHEMA, tight) as used,
        sf.curate(patients, whose, Pure(50)) as visits,
        sf.curate(DATA, many, Pure(50)) as fine,
    ):
        used.mean("age", spend=Pure(1))
        answer = curator.histogram("sex", spend=Pure(1))
        number = curator.mean("age", spend=Pure(1))
        made = Factored.uniform(Space.of(SCHEMA, ["sex"]), total=100)
        client = sf.local.plan(users=100, spend=Pure(1), candidates=["a", "b"]).client()
        every = {name: getattr(sf, name) for name in sf.__all__}
        yield {**every, "sf": sf, "curator": curator, "used": used, "answer": answer, "number": number, "df": DATA, "DATA": DATA, "place": place,
               "schema": SCHEMA, "client": client, "made": made, "read_request": read_request, "visits": visits, "fine": fine}  # fmt: skip


MISTAKES = {
    # what is typed: the word that the sentence says
    # spends
    "curator.count('age > 40')": "spend=Pure(0.1)",
    "curator.mean('age')": "spend=",
    "curator.mean('age', 0.1)": "spend=",
    "curator.mean('age', spend=0.1)": "Pure(0.1)",
    "curator.mean('age', spend='Pure(0.1)')": "without quotes",
    "curator.mean('age', spend=(1, 1e-6))": "Approximate(",
    "curator.mean('age', spend=Pure)": "Pure(0.1)",
    "curator.mean('age', eps=0.1)": "spend=",
    "curator.mean('age', budget=1)": "spend=",
    "curator.mean('age', epsilon=0.1, spend=Pure(1))": "one of them",
    "curator.mean('age', delta=1e-6)": "epsilon=1",
    "curator.mean('age', epsilon=-1)": "epsilon=0.1",
    "curator.mean('age', epsilon='much')": "0.1",
    "curator.mean('age', epsilon=1, delta=2)": "between 0 and 1",
    "curator.mean('age', spend=Concentrated(0.1))": "Pure(0.1)",
    "curator.mean('age', epsilon=1000)": "The largest that fits",
    "used.count('age > 40', spend=Pure(0.1))": "Nothing more of age can be asked with this ledger",
    "used.histogram('sex', spend=Pure(1.5))": "the limit on sex",
    "curator.sql('SELECT COUNT(*) FROM data WHERE age > 40')": "This question depends on people",
    "Pure()": "Pure(0.1)",
    "Pure(1, 1e-6)": "Pure(0.1)",
    "Pure(epsilon=1, delta=1e-6)": "Approximate(1, 1e-6)",
    "Approximate(1)": "Approximate(1, 1e-6)",
    "Budget()": "Budget(person=Pure(3)",
    "Budget(3)": "Pure(3)",
    "curator.share(10)": "0.1 for a tenth",
    "curator.share('age > 80')": "curator.people('age > 80'",
    "curator.share('age > 80', epsilon=1)": "people('age > 80'",
    "curator.proportion('age > 80', epsilon=1)": "curator.people('age > 80'",
    "curator.mean('age > 80', epsilon=1)": "mean of a boolean column",
    "curator.count(epsilon=0.5, noise='gaussian')": "follows from the spend",
    "curator.mean('age', bounds=(0, 100), epsilon=1)": "integers(0, 120)",
    "curator.mean('age', epsilon=1, random_state=3)": "leave it out",
    # questions
    "curator.count('cost > 50,000', epsilon=0.1)": "write 50000, or 50.000 for a decimal, instead of 50,000",
    "curator.count('cost > 5,5', epsilon=0.1)": "write 5.5 instead of 5,5",
    "curator.count('month(admitted) = 3', epsilon=0.1)": "admitted BETWEEN DATE '2025-12-01' AND DATE '2025-12-31'",
    "curator.count('EXTRACT(YEAR FROM admitted) = 2025', epsilon=0.1)": "months('admitted')",
    "curator.avg('age')": "curator.mean(",
    "curator.average('age', epsilon=1)": "curator.mean(",
    "curator.std('age', epsilon=1)": "variance",
    "curator.max('age', epsilon=1)": "quantiles",
    "curator.value_counts('sex')": "curator.histogram(",
    "curator.groupby('sex')": "curator.group_by(",
    "curator.nunique('age')": "curator.people(",
    "curator.running('count', spend=Pure(0.1))": "periods=365",
    "curator.rolling('count')": "curator.running(",
    "curator.publish('count')": "sf.Publication.declare(",
    "curator.head()": ".value.sample(10)",
    "curator.corr()": "curator.synthesize(columns=",
    "curator['age']": "curator.mean('age'",
    "curator.mean('age', epsilon=0)": "Pure(0.1)",
    "curator.mean('age', spend=Pure(0))": "Pure(0.1)",
    "curator.mean('age', spend=Pure(-1))": "0.1",
    "curator.mean('age', rho=0)": "Pure(0.1)",
    "answer.head()": "print(answer)",
    "answer.describe()": "print(answer)",
    "answer.iloc[0]": "to_pandas()",
    "curator.count('age == 30', epsilon=1)": "write = in place of ==",
    "curator.count('age = 30 && cost > 3', epsilon=1)": "AND",
    "curator.count('age = 30 || cost > 3', epsilon=1)": "OR",
    "curator.count('age > 30 and ! cost > 3', epsilon=1)": "NOT",
    "curator.count(DATA.age == 30, epsilon=1)": 'such as "age > 40"',
    "curator.count(lambda row: row.age == 30, epsilon=1)": 'such as "age > 40"',
    "curator.count(\"sex == 'F'\", epsilon=1)": "write = in place of ==",
    "curator.mean('Age', epsilon=1)": "did you mean 'age'",
    "curator.query('SELECT 1')": "curator.sql(",
    "curator.describe()": "curator.schema",
    "curator.hist('age', bins=10)": "curator.histogram(",
    "curator.histogram('age', bins=10, epsilon=1)": "bins('age', step=10)",
    "curator.histogram('age', 'sex = 1', epsilon=1)": "where='sex = 1'",
    "curator.histogram(epsilon=1)": "Histogram('age')",
    "curator.histogram('note', epsilon=1)": "keys='private'",
    "curator.mean('ag', epsilon=1)": "did you mean 'age'",
    "curator.mean('sex', epsilon=1)": "histogram",
    "curator.mean(['age', 'cost'], epsilon=1)": "one column",
    "curator.mean(df['age'], epsilon=1)": "write 'age'",
    "curator.mean(epsilon=1)": "mean('age'",
    "curator.quantiles('age', 50, epsilon=1)": "between 0 and 1",
    "curator.quantiles('age', q=0.5, epsilon=1)": "[0.5]",
    "curator.quantiles('age', [25, 50], epsilon=1)": "write 0.25",
    "curator.group_by('department', 'mean', epsilon=1)": "'mean of age'",
    "curator.group_by('department', Mean, epsilon=1)": "Mean('age')",
    "curator.group_by('department', 'median of age', epsilon=1)": "by=",
    "curator.group_by('department', {'age': 'count'}, epsilon=1)": "IS NOT NULL",
    "curator.group_by('department', epsilon=1)": "group_by('sex'",
    "curator.learn(sf.learn.PrivateThreshold(), features='age', target='sex', epsilon=1)": "PrivateThreshold(spend=",
    "curator.ask('mean of age', Pure(1))": "Histogram('age')",
    "curator.ask(Mean, Pure(1))": "Histogram('age')",
    "Mean()": "Mean('age')",
    "GroupBy('sex')": "GroupBy('sex', [Count()",
    "sf.Median('age')": "Quantiles('age', 0.5)",
    "sf.Average('age')": "Mean('age')",
    # conditions
    "curator.count('sex = \"F\"', epsilon=0.1)": "sex = 'F'",
    "curator.count('sex = F', epsilon=0.1)": "sex = 'F'",
    "curator.count(\"sex = 'female'\", epsilon=0.1)": "'F'",
    "curator.count('age > \"40\"', epsilon=0.1)": "age > 40",
    "curator.count('age > 40 & cost > 3', epsilon=0.1)": "AND",
    "curator.count('18 < age < 65', epsilon=0.1)": "BETWEEN",
    "curator.count('age', epsilon=0.1)": "age IS NOT NULL",
    "curator.count(df.age > 40, epsilon=0.1)": "age > 40",
    "curator.count('SELECT * FROM visits WHERE age > 40', epsilon=0.1)": "SELECT",
    "curator.count(\"note LIKE '%flu%'\", epsilon=0.1)": "IN (",
    "curator.count('age = NULL', epsilon=0.1)": "IS NULL",
    "curator.count(filter='age > 40', epsilon=0.1)": "where='age > 40'",
    "curator.count(\"admitted > 'March'\", epsilon=0.1)": "DATE '",
    # opening
    "sf.curate(df)": "sf.draft(",
    "sf.curate(df, schema)": "Pure(3)",
    "sf.curate(df, schema, 3)": "Pure(3)",
    "sf.curate(df, schema, epsilon=3)": "sf.Pure(3)",
    "sf.curate(place / 'nowhere.csv', schema, Pure(3))": "There is no file",
    "sf.curate(place / 'visits.txt', schema, Pure(3))": "name it .csv",
    "sf.curate(place / 'visits.xlsx', schema, Pure(3))": "pandas.read_excel",
    "sf.curate(place / 'latin.csv', schema, Pure(3))": "UTF-8",
    "sf.curate(place / 'twice.csv', schema, Pure(3))": "each one differently",
    "sf.curate(place / 'visits.csv', schema, Pure(3))": "does not have",
    "sf.curate([1, 2, 3], schema, Pure(3))": "pandas or polars frame",
    "sf.curate(df, 'nowhere.toml', Pure(3))": "cannot be read",
    "sf.curate(df, {'age': int}, Pure(3))": "integers(",
    "sf.curate(df, ['age'], Pure(3))": "Schema",
    "sf.read_csv('visits.csv')": "curate(",
    "sf.Schema({'sex': ['F', 'M']})": "categories('F', 'M')",
    "sf.Schema()": "Schema({",
    "sf.integers()": "integers(0, 120)",
    "sf.integers(0, 1.5)": "fixed(",
    "sf.integers(9, 0)": "smaller one first",
    "sf.fixed(0, 10)": "step=0.01",
    "sf.categories()": "categories(",
    "sf.categories(['F', 'M'])": "categories('F', 'M')",
    "sf.dates('1.1.2020', '2030-12-31')": "2020-05-17",
    "sf.text()": "max_bytes=40",
    "sf.category('F')": "categories('F', 'M')",
    # what comes back
    "answer.result": "answer.value",
    "answer.ci": "answer.interval(0.95)",
    "answer.to_dict()": "to_json",
    "answer.to_xlsx('a.xlsx')": "to_excel",
    "answer.to_excel('a.csv')": ".xlsx",
    "answer['counts']": "did you mean 'count'",
    "answer.value['sexx']": "did you mean 'sex'",
    "float(answer)": "answer.value",
    "number.interval(95)": "confidence=0.95",
    "number.plot('a.jpg')": ".svg or .png",
    "curator.budget": "curator.guarantee()",
    "curator.spent()": "curator.ledger.spent()",
    # a second round: arguments of the wrong kind, arithmetic, files
    "curator.mean('age', epsilon='a lot')": "0.1",
    "curator.mean('age', group='sex', epsilon=1)": "by='sex'",
    "curator.mean('age', by=3, epsilon=1)": "['age', 'sex']",
    "curator.mean('age', by=['sex', 'race'], epsilon=1)": "no column 'race'",
    "curator.histogram('month(admitted)', epsilon=1)": "months('admitted')",
    "curator.count(by='YEAR(\"admitted\")', epsilon=1)": "[columns.years]",
    "read_request('count by month(admitted)', schema)": "months('admitted')",
    "read_request('mean of cost by weekday(admitted), sex', schema)": "weekdays('admitted')",
    "read_request('top 3 of department', schema)": "write 'histogram of department'",
    "sf.SfumatoError": "sfumato.errors.SfumatoError",
    "sf.BudgetExceeded": "sfumato.errors.BudgetExceeded",
    "curator.histogram([], epsilon=1)": "Histogram('age')",
    "curator.histogram(['age', 'age'], epsilon=1)": "each one once",
    "curator.histogram({'age': 10}, epsilon=1)": "['age', 'sex']",
    "curator.histogram('age', bins=0, epsilon=1)": "bins('age', step=10)",
    "curator.median('sex', epsilon=1)": "ask for a histogram",
    "curator.group_by(3, ['count'], epsilon=1)": "['age', 'sex']",
    "curator.group_by(lambda row: row.sex, ['count'], epsilon=1)": "['age', 'sex']",
    "curator.group_by('sex', {'age': 3}, epsilon=1)": "Mean('age')",
    "curator.count('admitted > 2025-03-01', epsilon=1)": "DATE '2025-03-01'",
    "curator.count('age > 64 years', epsilon=1)": "`years`",
    "curator.synthesize(columns=3, epsilon=1)": "['age', 'sex']",
    "curator.synthesize(n=100, epsilon=1)": ".value.sample(100)",
    "curator.rehearse('mean of age')": "rehearse(Mean('age'))",
    "curator.rehearse([Mean('age')])": "rehearse(Mean('age'))",
    "curator.stored(number)": "give answer.request",
    "curator.report(3)": "report({'membership': True})",
    "curator.guarantee(3)": "write 'age'",
    "sf.curate('missing.csv', schema, Pure(3))": "There is no file",
    "sf.curate(df, schema, Pure(3), ledger=3)": "'people.ledger'",
    "sf.Ledger(True, Pure(3))": "'people.ledger'",
    "sf.Schema.load(3)": "cannot be read",
    "sf.Histogram(3)": "['age', 'sex']",
    "sf.bins('age', step=0)": "above zero",
    "Pure(1) * 2": "split(2)",
    "Pure(1) / 2": "split(2)",
    "Pure(2) - Pure(1)": "bound.epsilon",
    "Pure(1) < Pure(2)": "bound.epsilon",
    "Pure(1).delta": "Approximate(1, 1e-6)",
    "number + 1": "answer.value",
    "2 * number": "answer.value",
    "number > 3": "answer.value",
    "int(answer)": "answer.value",
    "answer.plot(3)": "'answer.svg'",
    "answer.plot(kind='bar')": "plot('answer.svg')",
    "answer.to_csv()": "to_csv('answer.csv')",
    "answer.to_csv(3)": "'answer.csv'",
    "answer.to_csv(place / 'nowhere' / 'a.csv')": "There is no folder",
    "answer.to_csv(place / 'a.parquet')": "to_parquet",
    "answer.to_parquet(place / 'a.csv')": "to_csv",
    "answer.to_json('a.json')": "json.dumps(",
    "answer.value.plot()": "answer.plot('answer.svg')",
    "answer.value.mean()": "answer.to_pandas()",
    "sf.connect()": "token=",
    "sf.connect('https://data.example.org')": "token=",
    "sf.local.plan()": "users=100_000",
    "sf.local.plan(users=100, epsilon=1, candidates=['a', 'b'])": "spend=Pure(0.1)",
    "sf.local.read_plan(3)": "path of a plan",
    "sf.local.plan(users=100, spend=Pure(1), candidates=['a', 'b']).client().reports(3)": "in a list",
    "client.report()": "client.report('red')",
    "client.reports()": "client.reports(['red', 'green'])",
    "sf.local.plan(users=100, spend=Pure(1), candidates=['a', 'b']).save()": "plan.save('plan.json')",
    "sf.plan()": "plan.sample_size(",
    "sf.plan(Mean('age'), Pure(1))": "curator.preview(question, Pure(1))",
    "sf.draft(df).save()": "draft.save('people.toml')",
    "sf.draft(df).save(place / 'visits.csv')": "overwrite=True",
    "Mean('age').ask": "curator.ask(question, Pure(0.1))",
    "Histogram('sex').run(curator)": "curator.ask(question, Pure(0.1))",
    "Mean('age').preview(curator)": "curator.preview(question, Pure(0.1))",
    "Mean('age').colum": "did you mean 'column'",
    "len(curator)": "curator.count(spend=Pure(0.1))",
    "float(Pure(1))": "float(Pure(1).epsilon)",
    "int(Concentrated(1))": "Concentrated(0.1).rho",
    "round(Pure(1), 2)": "float(Pure(1).epsilon)",
    "sf.Publication('counts.toml')": "Publication.load('counts.toml')",
    # a third round: two walks with the docs alone
    "curator.distribution('sex', epsilon=1)": "ask for a histogram, Histogram('sex')",
    "visits.people(by='patient_id', epsilon=1)": "'patient_id' is the person column",
    "visits.histogram('patient_id', epsilon=1)": "People('age > 40') counts people",
    "visits.count('patient_id = 3', epsilon=1)": "'patient_id' is the person column",
    "curator.count('age > sixty', epsilon=1)": "'age' holds numbers, and 'sixty' is none of them; write age > 60.",
    "curator.count('admitted > March', epsilon=1)": "write admitted > DATE '2025-",
    "curator.cost.mean()": "curator.mean('cost', spend=Pure(0.1))",
    "curator.department": "curator.histogram('department', spend=Pure(0.1))",
    "curator.plot('age')": ".plot('sex.svg')",
    "curator.count(\"department = 'neurology'\", epsilon=1)": "There is 'surgery', 'cardiology', 'maternity', 'other'",
    "sf.Schema({'age': 'integer'})": "integers(0, 120)",
    "sf.Schema({'age': 'float64'})": "fixed(0, 1000, step=0.01)",
    "sf.curate(schema, 'visits.csv', Pure(3))": "swapped here; write curate('people.csv', 'people.toml', Pure(3))",
    "sf.curate('visits.toml', df, Pure(3))": "The data come first and the schema second",
    "sf.curate(df, 'visits.csv', Pure(3))": "the data come first and the schema second",
    "fine.mean('cost', by='cost', epsilon=1)": "bins('cost', step=…)",
    "curator.sql('SELECT sex, MEDIAN(age) FROM data GROUP BY sex', epsilon=1)": "curator.quantiles('age', by='sex'",
    "answer.plot(place / 'nowhere' / 'a.svg')": "There is no folder",
    "sf.BudgetAccountant": "ledger='people.ledger'",
    "exec('from sfumato import BudgetAccountant')": "ledger='people.ledger'",
    "exec('from sfumato import Answers')": "sfumato.Queries",
    "sf.PureDPBudget(3)": "Pure(3)",
    "sf.make_laplace": "perturb.calibrate(Pure(0.5), sensitivity=1)",
    "sf.dp": "curate('people.csv', schema, Pure(3))",
    "sf.tools": "curator.mean('age', spend=Pure(0.1))",
    "sf.bins('age', step=10, width=3)": "bins('age', step=10)",
    "sf.bins('age', 10)": "step=, edges= by name; write bins('age', step=10)",
    "curator.ask(Pure(1), Count())": "The question comes first and the spend second",
    "curator.ask(Pure, Count)": "The question comes first and the spend second",
    # a library's first reader: what was typed in a library that lends books
    "curator.count('admitted > 01.06.2025', epsilon=1)": "write DATE '2025-06-01'",
    "sf.draft(df, rows_per_person=5)": ".fill(rows_per_person=5)",
    "curator.group_by('sex', {'age': ['mean', 'count']}, epsilon=1)": "['mean of age', 'count']",
    "curator.crosstab('sex', 'department')": "curator.histogram(['sex', ",
    "curator.quantile('age', 0.9)": "curator.quantiles('age', [0.9]",
    "curator.percentile('age', 90)": "lie between 0 and 1",
    "curator.correlation('age', 'cost')": "there is no correlation of its own; write curator.synthesize(",
    "made.to_pandas()": "model.sample(1000).to_pandas()",
    "fine.quantile('cost', 0.9)": "curator.quantiles('cost', [0.9]",
    "fine.avg('cost')": "curator.mean('cost'",
    "read_request('SELECT AVG(age) FROM data', schema)": "sfumato sql people.csv people.toml",
    "read_request('count distinct age', schema)": "'people where age > 40'",
    "read_request('quantiles 90% of age', schema)": "write 0.9 in place of 90%",
    "read_request('medium of cost', fine.schema)": "'histogram of cost'",
}


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_is_one_sentence_with_the_word_to_write(names: dict[str, Any], typed: str) -> None:
    before = names["curator"].ledger.head
    with pytest.raises(SfumatoError) as refused:
        eval(typed, names)
    said = str(refused.value)
    assert MISTAKES[typed] in said, said
    assert "\n" not in said and said.endswith((".", "?")) and len(said) < 500, said
    assert names["curator"].ledger.head == before, "nothing was spent"


def test_there_are_sixty_of_them() -> None:
    assert len(MISTAKES) >= 60


UNDERSTOOD = [
    "read_request('mean of age grouped by sex', schema).asked.by == ('sex',)",
    "curator.mean('age', epsilon=0.1).loss.person.epsilon == sf.exact_tenth",
    "curator.mean('age', epsilon=0.1).event == curator.mean('age', spend=Pure('0.1')).event",
    "curator.mean('age', by='sex', epsilon=0.1).value.keys == ('sex',)",
    "curator.count(by=['sex', 'department'], epsilon=0.1).value.keys == ('sex', 'department')",
    "curator.histogram('department', by='sex', epsilon=0.1).value.keys == ('sex', 'department')",
    "len(curator.median('age', epsilon=0.1).value) == 1",
    "len(curator.quantiles('age', 0.5, epsilon=0.1).value) == 1",
    "'sex' in curator.median('age', by='sex', epsilon=0.1).value.columns",
    "'mean of age' in curator.group_by('sex', Mean('age'), epsilon=0.1).value.columns",
    "'mean of age' in curator.group_by('sex', {'age': ['mean', 'sum']}, epsilon=0.1).value.columns",
    "'count' in curator.group_by('sex', ['count', 'average of age'], epsilon=0.1).value.columns",
    "curator.ask(Mean('age'), epsilon=0.1).reused",
    "curator.preview(Mean('age'), epsilon=0.1).fits",
    "str(curator.report(delta=1e-5)) and not hasattr(curator, 'avg')",
    "answer.frame.to_pandas().shape == (4, 4)",
    "bool(curator)",
    "sf.draft(df).save(place / 'drafted.toml').read_text() == sf.draft(df).to_toml()",
    "answer.to_polars().shape == answer.value.to_polars().shape[:1] + (4,)",
    "int(number) == int(number.value) and round(number, 1) == round(float(number), 1)",
    "curator.histogram(['sex', 'department'], epsilon=0.1).value.keys == ('sex', 'department')",
    "f'{number:.1f}' == f'{number.value:.1f}' and float(number) == number.value",
]


@pytest.mark.parametrize("typed", UNDERSTOOD)
def test_what_people_type_is_understood(names: dict[str, Any], typed: str) -> None:
    from fractions import Fraction

    assert eval(typed.replace("sf.exact_tenth", "Fraction(1, 10)"), {**names, "Fraction": Fraction})


@pytest.mark.parametrize(
    ("words", "bound"),
    [
        ({"epsilon": 0.1}, Pure(0.1)),
        ({"epsilon": "1/3", "delta": 0}, Pure("1/3")),
        ({"epsilon": 1, "delta": 1e-6}, Approximate(1, 1e-6)),
        ({"rho": 0.05}, Concentrated(0.05)),
    ],
)
def test_numbers_of_a_spend_are_the_spend(words: dict[str, Any], bound: Any) -> None:
    with sf.curate(DATA, SCHEMA, Approximate(5, 1e-5)) as curator:
        assert curator.loss(sf.Mean("age"), **words) == curator.loss(sf.Mean("age"), bound)
        curator.mean("age", **words)
        assert curator.mean("age", spend=bound).reused


def test_a_ledger_takes_a_bound_for_its_budget(tmp_path: Path) -> None:
    with sf.Ledger(tmp_path / "a.ledger", Pure(3)) as ledger:
        assert ledger.budget == Budget(person=Pure(3))


def test_a_rehearsal_says_first_that_its_rows_are_made_up(names: dict[str, Any]) -> None:
    played = names["curator"].rehearse(sf.Mean("age"), Pure(0.1))
    start = (
        "ON MADE-UP ROWS: the value means nothing. Nothing was spent; it would cost a person epsilon 0.1; it reads age."
    )
    assert str(played).startswith(start) and "It cost" not in str(played) and "Mean of age" in str(played)
    assert names["curator"].answer_from_json(played.to_json()).rehearsed
    assert not names["number"].rehearsed and "MADE-UP" not in str(names["number"])


def test_a_frame_that_is_paid_again_says_so(tmp_path: Path) -> None:
    said = []
    for spend in (Pure(1), Pure(1), Pure(2)):
        with sf.curate(DATA, SCHEMA, Pure(9), ledger=tmp_path / "a.ledger") as curator:
            said.append(" ".join(curator.mean("age", spend=spend).notes))
            assert "asked before" not in " ".join(curator.mean("age", spend=spend).notes), "this one is free"
    assert "asked before of snapshot '1'" in said[1] and "snapshot='2026-03'" in said[1]
    assert "asked before" not in said[0] and "asked before" not in said[2], "another spend is another question"
    for _ in range(2):
        with sf.curate(DATA, SCHEMA, ledger=tmp_path / "a.ledger", snapshot="March") as curator:
            assert "asked before" not in " ".join(curator.mean("age", spend=Pure(1)).notes)


def test_what_is_drawn_for_a_group_of_which_nothing_is_known_is_not_shown(
    names: dict[str, Any], tmp_path: Path
) -> None:
    drawn = names["curator"].group_by("sex", ["count", "mean of age", "variance of age"], spend=Pure(2))
    answer = _with_noise_of_zero(drawn, ("other", None))
    lines = {line.split()[0]: line for line in str(answer).splitlines() if line.startswith("  ")}
    assert (
        lines["missing"].count("not known") == lines["other"].count("not known") == 2 and "0 to 120" in lines["other"]
    )
    assert "not known" not in lines["F"] and "what was drawn there tells nothing" in " ".join(answer.notes)
    assert answer.to_pandas()["mean of age"].notna().all(), "machines get what was drawn, whatever the luck"
    rows = {row["sex"]: row for row in pandas.read_csv(answer.to_csv(tmp_path / "a.csv")).to_dict("records")}
    assert set(rows) == {"F", "M", "other", "missing"}
    assert (rows["other"]["mean of age, low"], rows["other"]["mean of age, high"]) == (0, 120)
    assert rows["F"]["mean of age"] == pytest.approx(
        dict(zip(answer.frame["sex"], answer.frame["mean of age"], strict=True))["F"]
    )


def test_a_mean_that_may_be_anything_is_not_known_however_many_there_are(names: dict[str, Any]) -> None:
    answer = names["curator"].mean("age", where="sex = 'F'", spend=Pure(1))
    sums, count = answer.released.parts
    wide = replace(answer.released, parts=(replace(sums, law=sf.noise.DiscreteLaplace(10**9)), count))
    one = replace(answer, released=wide)
    assert one.frame.unknown == {"value": (True,)} and "not known" in str(one) and "0 to 120" in str(one)
    assert not any(answer.frame.unknown["value"])


def test_a_picture_has_every_group_and_leaves_those_hollow_of_which_nothing_is_known(names: dict[str, Any]) -> None:
    for zero in (("other", None), ("F", "M", "other", None)):
        alone = _with_noise_of_zero(names["curator"].mean("age", by="sex", spend=Pure(1)), zero)
        chart = alone.plot().figure().axes[0]
        assert [label.get_text() for label in chart.get_yticklabels()] == ["F", "M", "other", "missing"]
        assert len(chart.patches) == len(zero) and not any(patch.get_fill() for patch in chart.patches)
    assert "Hollow" in alone.plot().caption and "privacy noise only" in alone.plot().caption


def _with_noise_of_zero(answer: sf.Answer, groups: tuple[str | None, ...]) -> sf.Answer:
    """Return the answer as if empty groups had drawn no noise, so that luck does not decide what is seen."""
    empty = [cell[0] in groups for cell in answer.released.cells]
    parts = tuple(
        replace(part, released=tuple(0 if none else one for none, one in zip(empty, part.released, strict=True)))
        for part in answer.released.parts
    )
    return replace(answer, released=replace(answer.released, parts=parts))


def test_a_closed_curator_says_so() -> None:
    with sf.curate(DATA, SCHEMA, Pure(1)) as curator:
        assert not curator.closed
    with pytest.raises(SfumatoError, match="This curator is closed"):
        curator.mean("age", spend=Pure(1))


def test_the_words_of_a_check_stay_within_a_total_variation() -> None:
    from sfumato.questions.synthesis.stated import stated_notes

    check = {"means": {"3": 6.4}, "tables": [1], "deviation": 3.9, "rows": 0.0}
    (unknown,) = stated_notes(check)
    assert "1 table of 3 columns gave 1 in" in unknown and "do not read relations between columns" in unknown
    assert "6.4" not in unknown and "3.9" not in unknown
    (known,) = stated_notes({**check, "means": {"3": 0.5}, "deviation": 0.01})
    assert "1 table of 3 columns of the model is off by 0.5" in known and "0.01" in known
    (small,) = stated_notes({**check, "means": {"3": -0.00048}, "deviation": 0.015})
    assert "1 table of 3 columns of the model is off by at most about 0.03" in small and "not known" not in small


def test_notes_go_where_the_numbers_go_and_nothing_is_overwritten_in_silence(
    names: dict[str, Any], tmp_path: Path
) -> None:
    import json

    from pyarrow import parquet

    answer = names["answer"]
    path = answer.to_csv(tmp_path / "a.csv")
    notes = (tmp_path / "a.notes.txt").read_text().splitlines()
    assert notes == list(answer.frame.notes) and "privacy noise only" in notes[0]
    assert set(answer.notes) < set(notes) and not path.read_text().startswith("#")
    with pytest.raises(SfumatoError, match="overwrite=True"):
        answer.to_csv(path)
    assert answer.to_csv(path, overwrite=True) == path
    stored = parquet.read_table(answer.to_parquet(tmp_path / "a.parquet")).schema.metadata
    assert json.loads(stored[b"notes"]) == notes == answer.to_pandas().attrs["notes"]
    for write in (answer.to_parquet, answer.frame.to_parquet):
        with pytest.raises(SfumatoError, match="exists already"):
            write(tmp_path / "a.parquet")
    (tmp_path / "b.notes.txt").write_text("mine")
    with pytest.raises(SfumatoError, match=r"b\.notes\.txt"):
        answer.to_csv(tmp_path / "b.csv")
    assert not (tmp_path / "b.csv").exists()


def test_made_up_rows_keep_their_notes_and_overwrite_nothing(names: dict[str, Any], tmp_path: Path) -> None:
    from pyarrow import parquet

    answer = names["curator"].synthesize(["sex", "department"], spend=Pure(1))
    assert answer.event == names["curator"].synthesize(columns=["sex", "department"], spend=Pure(1)).event
    answer.to_csv(tmp_path / "rows.csv")
    assert (tmp_path / "rows.notes.txt").read_text().splitlines() == list(answer.notes)
    stored = parquet.read_table(answer.to_parquet(tmp_path / "rows.parquet")).schema.metadata
    assert b"notes" in stored
    for write, name in ((answer.value.to_csv, "rows.csv"), (answer.value.to_parquet, "rows.parquet")):
        with pytest.raises(SfumatoError, match="exists already"):
            write(tmp_path / name)


def test_a_preview_says_how_wrong_the_answer_will_be(names: dict[str, Any]) -> None:
    curator = names["curator"]
    seen = curator.preview(sf.Quantiles("age", 0.5), Pure(1))
    told = curator.median("age", spend=Pure(1)).interval()["rank error"][0]
    assert seen.expected.unit == "rank" and seen.expected.size == told, "the worst, which is public"
    assert f"{told} rows of at most 300 off its rank" in str(seen)
    small = curator.preview(sf.Quantiles("age", 0.5), Pure(5)).expected
    assert small.size < seen.expected.size
    divided = curator.preview([sf.Quantiles("age", 0.5, where=f"sex = '{sex}'") for sex in "FM"], Pure(1)).expected
    assert divided.size > seen.expected.size, "each of them has half of the spend"
    assert curator.preview(sf.Distribution("age"), Pure(1)).expected.unit == "rank"
    count = curator.preview(sf.Count("age > 30"), Pure(1)).expected
    low, high = curator.count("age > 30", spend=Pure(1)).interval()
    assert (count.unit, count.size) == ("value", (high - low) / 2)
    assert "known only after paying" in curator.preview(sf.Synthesize(columns=["sex"]), Pure(1)).error


def test_a_preview_of_several_quantiles_is_not_too_hopeful() -> None:
    ages = [place % 7919 for place in range(2000)]
    stated, seen = [], 0
    for _ in range(25):
        curator = sf.curate(pandas.DataFrame({"pay": ages}), sf.Schema({"pay": sf.integers(0, 7918)}), Pure(5))
        quarters = sf.Quantiles("pay", [0.25, 0.5, 0.75])
        seen = curator.preview(quarters, Pure(1)).expected.size
        stated.append(curator.ask(quarters, Pure(1)).interval()["rank error"][0])
    assert sum(stated) / 25 <= 1.25 * seen, "on average the answer states no more, but for the luck of 25 draws"
    assert seen <= 2 * sum(stated) / 25, "nor much less"


def test_groups_that_cannot_hold_anybody_and_means_at_an_end_are_said() -> None:
    rows = pandas.DataFrame({"age": [0] * 400 + [50] * 400, "team": ["a"] * 400 + ["b"] * 400})
    schema = sf.Schema({"age": sf.integers(0, 99), "team": sf.categories("a", "b"), "decade": sf.bins("age", step=10)})
    with sf.curate(rows, schema, Pure(90)) as curator:
        said = curator.histogram(["decade", "age"], spend=Pure(1)).notes
        assert any("'decade' and 'age' are both read from 'age'" in note for note in said)
        assert not any("both read" in note for note in curator.histogram(["decade", "team"], spend=Pure(1)).notes)
        ended = 0
        for place in range(30):  # half of all draws are below the range
            answer = curator.mean("age", where=f"age < {place + 5} OR team = 'a'", spend=Pure("0.5"))
            noted = any("The noise took the mean to an end" in note for note in answer.notes)
            assert noted == (answer.value == 0), answer
            ended += noted
        assert 1 <= ended <= 29


def test_rows_of_an_answer_hold_plain_numbers() -> None:
    rows = pandas.DataFrame({"cost": [1.25, 2.5] * 200})
    with sf.curate(rows, sf.Schema({"cost": sf.fixed(0, 10, step="0.01")}), Pure(9)) as curator:
        found = curator.quantiles("cost", [0.5], spend=Pure(5)).frame.rows()
    assert {type(cell) for row in found for cell in row} <= {int, float}


def test_rows_that_are_weighed_down_are_said_wherever_the_number_goes() -> None:
    frame = pandas.DataFrame({"patient": [row // 3 for row in range(90)], "age": [40] * 90})
    schema = sf.Schema({"age": sf.integers(0, 120)}, person="patient", rows_per_person=1)
    with sf.curate(frame, schema, Pure(9)) as curator:
        answer = curator.count("age > 30", spend=Pure(9))
    for told in (answer.notes, answer.frame.notes, answer.to_pandas().attrs["notes"], [str(answer.frame)]):
        assert "counts of rows are too low" in " ".join(told)


def _refused(call: Any) -> str:
    with pytest.raises(SfumatoError) as caught:
        call()
    return str(caught.value)


def test_a_released_answer_is_not_gone_through_and_says_how_it_becomes_a_frame(names: dict[str, Any]) -> None:
    answer, number = names["answer"], names["number"]
    for call in (lambda: pandas.DataFrame(answer), lambda: list(answer), lambda: list(number)):
        assert "write answer.to_pandas()" in _refused(call)
    assert len(answer) == len(answer.to_pandas()) and answer and number
    assert "answer.value is what was released" in _refused(lambda: len(number))


def test_tables_are_read_by_their_columns_in_brackets(names: dict[str, Any]) -> None:
    workload = sf.workloads.marginals(SCHEMA, width=1, columns=["sex", "department"])
    tables = names["curator"].answer(workload, spend=Pure(1)).value
    assert tables["sex"] == tables.table("sex") == tables[0]
    assert tables[-1] == tables.table(["department"])
    assert "write tables.table('age')" in _refused(lambda: tables[2])
    assert "no block over sex, department" in _refused(lambda: tables["sex", "department"])
    assert str(workload) == repr(workload) == "Workload(9 numbers in 2 tables over sex, department)"


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("age = None", "write age IS NULL."),
        ("age <> NaN", "write age IS NOT NULL."),
        ("sex = 'None'", "none of the categories"),
        ("cost > 1.000,50", "write 1000.50 instead of 1.000,50."),
        ("cost BETWEEN 1,5 AND 20", "write 1.5 instead of 1,5."),
        ("cost > 1,000,000", "write 1000000 instead of 1,000,000."),
    ],
)
def test_conditions_say_how_missing_cells_and_numbers_are_written(names: dict[str, Any], where: str, said: str) -> None:
    assert said in _refused(lambda: names["curator"].count(where, spend=Pure(0.1)))


def test_a_variance_that_does_not_fit_names_the_step_that_does() -> None:
    ids = DATA.assign(pid=range(ROWS))
    money = {"cost": sf.fixed(0, 50_000_000, step="0.01")}
    with sf.curate(ids, sf.Schema(money, person="pid", rows_per_person=5), Pure(9)) as curator:
        said = _refused(lambda: curator.variance("cost", spend=Pure(1)))
    assert "too large to be squared" in said
    (line,) = [part for part in said.split("in Python ") if part.startswith("fixed(")]
    column = eval(line.rstrip("."), {"fixed": lambda low, high, step: sf.fixed(low, high, step=step)})
    assert f'step = "{column.step}"' in said or f'step = "{float(column.step):g}"' in said
    with sf.curate(ids, sf.Schema({"cost": column}, person="pid", rows_per_person=5), Pure(9)) as curator:
        curator.variance("cost", spend=Pure(1))


def test_a_draft_in_place_of_a_schema_says_the_line_to_write() -> None:
    frame = DATA.drop(columns=["note"])
    looked = sf.draft(frame, look=True)
    assert "write draft.confirm().schema()" in _refused(lambda: sf.curate(frame, looked, Pure(3)))
    bare = _refused(lambda: sf.curate(frame, sf.draft(frame), Pure(3)))
    assert "write draft.schema()" in bare and "Fill in" in bare
    binned = looked.fill(age_bins=sf.bins("age", step=5))
    assert binned.record["columns"]["age_bins"] == sf.bins("age", step=5).to_json()
    assert binned.fill(age=sf.integers(0, 99)).confirm().schema().domain("age") == sf.integers(0, 99)


def test_the_call_that_a_draft_shows_fills_in_a_whole_column() -> None:
    ages = pandas.DataFrame({"age": [33.0, None], "Cost €": [1.5, 2.5]})  # a blank makes pandas hold decimals
    for frame, name in ((ages, "age"), (ages[["Cost €"]], "Cost €")):
        drafted = sf.draft(frame)
        (call,) = [line for line in str(drafted).splitlines() if line.startswith("In Python ")]
        filled = eval(call.removeprefix("In Python ").removesuffix(" fills in a column."), {"draft": drafted})
        assert not [place for place in filled.missing if place.startswith(f"columns.{name}.")]


def test_a_phrase_with_a_bare_name_shows_the_line_with_quotes() -> None:
    schema = sf.Schema({"Cost €": sf.fixed(0, 9, step=1), "department": sf.categories("a", "b")})
    with sf.curate(pandas.DataFrame({"Cost €": [1], "department": ["a"]}), schema, Pure(9)) as curator:
        for kind in ("mean", "median"):
            said = _refused(lambda kind=kind: read_request(f"{kind} of Cost € by department", curator.schema))
            assert said.endswith(f"write '{kind} of \"Cost €\" by department'.")
            read_request(said.partition("write '")[2].removesuffix("'."), curator.schema)


def test_a_wrong_file_lists_its_columns_once() -> None:
    said = _refused(lambda: sf.curate(DATA[["age", "sex"]].rename(columns={"sex": "sx"}), SCHEMA, Pure(3)))
    assert said.count("'age'") == 1 and said.endswith("there is 'age', 'sx'.") and ".;" not in said
    assert "'sex', did you mean 'sx'?" in said and "'admitted', 'cost', 'department', 'note';" in said


def test_notes_of_a_statement_say_nothing_of_people_with_several_rows_where_rows_are_people() -> None:
    statement, several = "SELECT COUNT(*) FROM data WHERE age > 40", "A person who has more than one row"
    with sf.curate(DATA, SCHEMA, Pure(9)) as curator:
        assert several not in str(curator.sql(statement, spend=Pure(1)))
    schema = sf.Schema(SCHEMA.columns, person="patient_id", row_key=[])
    with sf.curate(DATA.assign(patient_id=range(ROWS)), schema, Pure(9)) as curator:
        assert several in str(curator.sql(statement, spend=Pure(1)))


def test_what_a_curator_prints_names_every_way_to_ask(names: dict[str, Any]) -> None:
    shown = " ".join(str(names["curator"]).split())
    assert "sql, audit, synthesize" in shown
    for word in shown.partition("Ask with ")[2].partition(";")[0].replace(" or ", ", ").split(", "):
        assert callable(getattr(names["curator"], word))


def test_a_large_limit_is_called_one_that_promises_little() -> None:
    with sf.curate(DATA, SCHEMA, Approximate(10, 1e-6)) as large, sf.curate(DATA, SCHEMA, Pure(3)) as usual:
        said = " ".join(str(large.report()).split())
        assert "So large a limit promises little by itself" in said and "right at most 73.2 % of the time" in said
        assert "promises little" in large.report().html()
        assert "promises little" not in str(usual.report())


def test_examples_name_only_columns_that_there_are() -> None:
    two = sf.Schema({"paid": sf.integers(0, 9), "plan": sf.categories("a", "b"), "smoker": sf.booleans()})
    one = sf.Schema({"paid": sf.integers(0, 9), "plan": sf.categories("a", "b")})
    for schema, named in ((two, "by plan, smoker"), (one, "by plan'")):
        said = in_own_words(_refused(lambda schema=schema: read_request("bogus of paid", schema)), schema)
        assert named in said and "race" not in said and "sex" not in said, said
