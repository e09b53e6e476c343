"""The local model, measured: `python -m bench.local`, or one part with `python -m bench.local_<part>`.

    python -m bench.local --quick      # a minute or two
    python -m bench.local              # about ten minutes
    python -m bench.local --full       # hours; goes on where it was stopped
    python -m bench.local --stored     # at once: the tables of all that was measured so far

Writes the section for the page on benchmarks to out/bench-local.md. Every point is kept in out/bench-local/: delete
what should be measured again. Set SFUMATO_WORDS to the file of words; without it that picture is skipped.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field

from bench import local_all, local_oracles, local_planted, local_posts, local_speed, local_words, local_zipf
from bench.local_store import OUT, SECTION, Mode

TARGET = 1.25 * math.sqrt(2 * 64 * math.log(2))


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    zipf_users: tuple[int, ...] = (100_000,)
    bits: tuple[int, ...] = (32, 64)
    epsilons: tuple[float, ...] = (1, 2, 4)
    seeds: int = 1
    planted_users: tuple[int, ...] = (1_000_000,)
    planted: int = 20
    cells: tuple[int, ...] = local_oracles.CELLS[:2]
    speed_users: tuple[int, ...] = (100_000, 1_000_000)
    words: int = 1_000_000
    bars: local_all.Runs = field(default_factory=local_all.Runs)


QUICK = Sizes(
    bits=(32,), epsilons=(4,), planted_users=(100_000,), planted=10, cells=(1 << 10,), speed_users=(100_000,),
    words=100_000, bars=local_all.QUICK,
)  # fmt: skip
FULL = Sizes(
    zipf_users=(100_000, 1_000_000), seeds=3, planted_users=(100_000, 1_000_000, 10_000_000), planted=200,
    cells=local_oracles.CELLS, speed_users=(100_000, 1_000_000, 10_000_000), bars=local_all.FULL,
)  # fmt: skip


def sections(sizes: Sizes) -> list[tuple[str, str, str]]:
    """Return title, words and table of every part."""
    kinds = local_planted.BACKGROUNDS
    hard_users, hard_epsilon = [min(sizes.planted_users[-1], 1_000_000)], sizes.epsilons[-1:]
    return [
        (
            "Bars",
            "What was promised of shares, lists, relays and made-up reports, with identifiers of Python's library and "
            "items planted where about every second one is found. CPU time.",
            local_all.section(sizes.bars),
        ),
        (
            "Popular strings, Zipf's law",
            "65,536 random strings, chances falling like rank^-1.2; truth: strings of at least 1 % of the users. "
            "pure-ldp lists its best 32, ours list what passes their cut-offs. False: listed, and held by nobody.",
            local_zipf.section(sizes.zipf_users, sizes.bits, sizes.epsilons, sizes.seeds),
        ),
        (
            "Planted items, 64 bits",
            f"Recall by size, in standard errors of the oracle over all users; the bar is {TARGET:.2f}. Fresh seeds.",
            local_planted.section(sizes.planted_users, sizes.epsilons, kinds[:1], "soft", sizes.planted),
        ),
        (
            "Planted items among hard backgrounds, and by PEM",
            "`prefixes`: background and planted items share prefixes of 40 bits; `half`: all others hold items of half "
            "the smallest planted size; `one`: 40 % of the others hold one item. The prefix method has the same "
            "oracle; `prefix` is ours, which whitens and keeps 1,024 prefixes, `plain` keeps 64 of items as they are.",
            "\n".join(
                [
                    local_planted.section(hard_users, hard_epsilon, kinds[1:], "soft", sizes.planted),
                    local_planted.section(hard_users, hard_epsilon, kinds[:2], "prefix", sizes.planted),
                    local_planted.section(hard_users, hard_epsilon, kinds[:2], "plain", sizes.planted),
                ]
            ),
        ),
        (
            "Errors of the oracles over their formula",
            "Root mean square over Zipf data; 1 is the formula.",
            local_oracles.section(sizes.cells, local_oracles.EPSILONS, 200_000),
        ),
        ("Time and memory", "CPU time, one process a size.", local_speed.section(sizes.speed_users)),
        ("Single reports by HTTP", "One process, 200 connections; each post is on the disk.", local_posts.section()),
        ("English words", "Each user holds one word.", local_words.section(sizes.words)),
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    for name in ("quick", "full", "stored"):
        options.add_argument(f"--{name}", action="store_true")
    asked = options.parse_args()
    Mode.measure = not asked.stored
    parts = sections(QUICK if asked.quick else FULL if asked.full or asked.stored else Sizes())
    text = "## The local model\n\n" + "\n".join(f"### {title}\n\n{words}\n\n{made}" for title, words, made in parts)
    OUT.mkdir(exist_ok=True)
    SECTION.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
