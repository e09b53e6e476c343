"""One room for each of the works that sfumato grew from: their algorithms, repaired, to study and to compare with.

Nothing in the core imports these rooms. A method of a paper that a question takes by name (`method="mwem"`) is
registered when it is first asked for.
"""
