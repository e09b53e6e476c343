"""What exact noise costs next to OpenDP's exact noise and numpy's unsafe noise.

    python -m bench.noise [--write docs/benchmarks.md]

CPU seconds per million draws, all in one run, best of several. OpenDP runs in its own environment, made on the first
run. numpy's samplers are the difference of two geometric draws, a rounded normal, and a rounded arsinh of a normal:
none of them is safe to release. With --write the table also replaces what stands between the markers
<!-- noise:begin --> and <!-- noise:end --> of a file.
"""

from __future__ import annotations

import argparse
import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from bench.environments import run
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Law, Noise, SinhNormal

SCALES = [1, 10, 1000, 10**6]
MILLION = 1_000_000
RUNS = 7
PEER_DRAWS = 20_000
PEER_PACKAGES = ["opendp[polars,numpy]==0.16.0"]
BEGIN, END = "<!-- noise:begin -->", "<!-- noise:end -->"
NAMES = {"laplace": "discrete Laplace", "gaussian": "discrete Gaussian", "sinh": "rounded sinh-normal, bend 2σ"}


def laws(scale: int) -> dict[str, Law]:
    exact = Fraction(scale)
    return {
        "laplace": DiscreteLaplace(exact),
        "gaussian": DiscreteGaussian(exact**2),
        "sinh": SinhNormal(exact**2, 2 * exact),
    }


def unsafe(name: str, scale: int, generator: np.random.Generator) -> np.ndarray:
    """Draw a million numbers the quick way that leaks."""
    if name == "laplace":
        p = -math.expm1(-1 / scale)
        return generator.geometric(p, MILLION) - generator.geometric(p, MILLION)
    if name == "gaussian":
        return np.rint(generator.normal(0, scale, MILLION)).astype(np.int64)
    return np.rint(2 * scale * np.arcsinh(generator.normal(0, 0.5, MILLION))).astype(np.int64)


def best(work: Callable[[], object], runs: int = RUNS) -> float:
    """Return the least CPU seconds of several runs, after one that warms up."""
    work()
    found = math.inf
    for _ in range(runs):
        start = time.process_time()
        work()
        found = min(found, time.process_time() - start)
    return found


def bulk() -> list[str]:
    """Return the rows of the main table."""
    peer = run("opendp", PEER_PACKAGES, Path(__file__).parent / "peers" / "opendp_noise.py", str(PEER_DRAWS))
    noise, generator = Noise(), np.random.default_rng(1)
    rows = [
        f"| law | scale | sfumato | numpy, unsafe | OpenDP {peer['version']} | sfumato / numpy | OpenDP / sfumato |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, title in NAMES.items():
        for scale in SCALES:
            law = laws(scale)[name]
            ours = best(lambda law=law: noise.draw(law, MILLION))
            theirs = best(lambda name=name, scale=scale: unsafe(name, scale, generator))
            slow = peer.get(name, {}).get(str(float(scale)))
            exact, faster = (f"{slow:.2f}", f"{slow / ours:,.0f}") if slow else ("has none", "")
            rows.append(
                f"| {title} | {scale:,} | {ours:.4f} | {theirs:.4f} | {exact} | {ours / theirs:.2f} | {faster} |"
            )
    return rows


FRESH = """
import time
start, cpu = time.perf_counter(), time.process_time()
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Noise, SinhNormal
Noise().draw({law}, 1000)
print(time.perf_counter() - start, time.process_time() - cpu)
"""
MEMORY = """
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Noise, SinhNormal
from pathlib import Path
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
noise = Noise()
noise.draw({law}, 1000)
before = peak()
noise.draw({law}, 10_000_000)
print(peak() - before)
"""


def fresh(program: str, law: Law, runs: int) -> list[float]:
    """Run a program in fresh processes and return the least of each number that it prints."""
    source = program.replace("{law}", repr(law).replace("Fraction", "__import__('fractions').Fraction"))
    command = [sys.executable, "-c", source]
    outputs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(runs)]
    return [min(column) for column in zip(*(map(float, output.split()) for output in outputs), strict=True)]


def single() -> list[str]:
    """Return the rows about first calls, small calls and memory."""
    noise = Noise()
    rows = [
        "| law | scale | first call, seconds (CPU) | draw(1), µs | draw(1000), µs | peak memory of 10⁷ draws, MiB |",
        "|---|---|---|---|---|---|",
    ]
    for name, title in NAMES.items():
        for scale in (10, 10**6):
            law = laws(scale)[name]
            first, cpu = fresh(FRESH, law, 3)
            (memory,) = fresh(MEMORY, law, 1)
            one = best(lambda law=law: [noise.draw(law) for _ in range(300)]) / 300
            thousand = best(lambda law=law: [noise.draw(law, 1000) for _ in range(50)]) / 50
            small = f"{one * 1e6:.0f} | {thousand * 1e6:.0f}"
            rows.append(f"| {title} | {scale:,} | {first:.2f} ({cpu:.2f}) | {small} | {memory:.0f} |")
    return rows


def replace_between(path: Path, text: str) -> None:
    """Put the text between the markers of a file, which must hold both."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{path} must hold the lines {BEGIN} and {END}.")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="a file with the markers, whose table is replaced")
    target = parser.parse_args().write
    setting = f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"
    head = f"CPU seconds per million draws, best of {RUNS} (OpenDP: {PEER_DRAWS:,} draws, scaled up). {setting}."
    more = "A fresh process, small calls, memory (the output alone takes 76 MiB)."
    text = "\n".join([head, "", *bulk(), "", more, "", *single()])
    print(text)
    if target:
        replace_between(target, text)


if __name__ == "__main__":
    main()
