#!/usr/bin/env python3
"""Durable runs of three steps per second: merge-train and DBOS, on SQLite and on PostgreSQL, in one go.

    make bench-runs, or: scripts/with-postgres benches/runs.py [--count N] [--rounds N] [--program PATH]

Both do the same: a workflow of three steps that do nothing, each step's outcome durable before the next begins, so many
workflows under way at once. Each round measures all four; what is printed is the median of the rounds, and the ratios.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit


def of_merge_train(program, count, url):
    command = [program, "bench", "runs", "--count", str(count)]
    if url:
        command += ["--database-url", url]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(told.strip().splitlines()[-1])["runs_per_second"]


def python_with_dbos():
    cache = os.environ.get("MERGE_TRAIN_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "merge-train")
    return os.path.join(cache, "clients", "dbos", "bin", "python")


def of_dbos(count, url):
    """In a process of its own: DBOS is one for each process."""
    told = subprocess.run(
        [python_with_dbos(), __file__, "--dbos", url, "--count", str(count)],
        check=True, capture_output=True, text=True,
    ).stdout
    return json.loads(told.strip().splitlines()[-1])["runs_per_second"]


def dbos_itself(count, url):
    from dbos import DBOS, DBOSConfig

    config: DBOSConfig = {"name": "bench", "system_database_url": url, "log_level": "ERROR"}
    DBOS(config=config)

    @DBOS.step()
    def step(number: int) -> dict:
        return {"step": number}

    @DBOS.workflow()
    def three() -> int:
        return sum(step(number)["step"] for number in (1, 2, 3))

    DBOS.launch()
    three()  # What is made at the first call is not measured.
    began = time.perf_counter()
    with ThreadPoolExecutor(max_workers=64) as pool:
        results = list(pool.map(lambda _: three(), range(count)))
    seconds = time.perf_counter() - began
    assert results == [6] * count
    print(json.dumps({"runs_per_second": count / seconds}))
    DBOS.destroy()


def database(server, name):
    """A new database on a server; its address, as each of the two reads it."""
    parts = urlsplit(server)
    subprocess.run(["psql", "-q", server, "-c", f"CREATE DATABASE {name}"], check=True)
    place = f"//{parts.netloc}/{name}" + (f"?{parts.query}" if parts.query else "")
    return f"postgres:{place}", f"postgresql+psycopg:{place}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=1000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--program", default="target/release/merge-train")
    arguments.add_argument("--dbos", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.dbos:
        return dbos_itself(given.count, given.dbos)
    server = os.environ.get("MERGE_TRAIN_TEST_POSTGRES")
    if not server:
        sys.exit("run it through scripts/with-postgres")
    rates = {"merge-train, SQLite": [], "DBOS, SQLite": [], "merge-train, PostgreSQL": [], "DBOS, PostgreSQL": []}
    for number in range(given.rounds):
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = database(server, f"bench_{os.getpid()}_{number}"), database(server, f"dbos_{os.getpid()}_{number}")
            rates["merge-train, SQLite"].append(of_merge_train(given.program, given.count, None))
            rates["DBOS, SQLite"].append(of_dbos(given.count, f"sqlite:///{folder}/dbos.sqlite"))
            rates["merge-train, PostgreSQL"].append(of_merge_train(given.program, given.count, ours[0]))
            rates["DBOS, PostgreSQL"].append(of_dbos(given.count, theirs[1]))
    medians = {name: statistics.median(all_of_it) for name, all_of_it in rates.items()}
    for name, rate in medians.items():
        print(f"{name:26} {rate:9.0f} runs/s   ({', '.join(f'{it:.0f}' for it in rates[name])})")
    for base in ("SQLite", "PostgreSQL"):
        ratio = medians[f"merge-train, {base}"] / medians[f"DBOS, {base}"]
        print(f"on {base}: {ratio:.1f} times as many")


if __name__ == "__main__":
    main()
