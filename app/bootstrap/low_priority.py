"""Run a module of this program at a low priority.

    python -m app.bootstrap.low_priority NICE MODULE [ARGUMENT ...]

It lowers the priority before any other import: the imports of an ingest take 0.5 s of CPU time.
"""

from __future__ import annotations

import os
import runpy
import sys

_LOWEST_PRIORITY = 19


def give_way(nice: int) -> None:
    """Lower this process's priority by `nice`.

    At 19 on Linux, the process runs only on idle cores (SCHED_IDLE) and uses half of the cores. The
    other half keep their caches for the readers. Then the p95 of searches rises by at most 10 %;
    with all cores it rises by 29 to 47 %, and at `nice` 10 it doubles (two cores,
    `scripts/bench/load.py`).
    """
    os.nice(nice)
    if nice == _LOWEST_PRIORITY and sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[len(cores) // 2 :])


if __name__ == "__main__":
    give_way(int(sys.argv[1]))
    del sys.argv[:2]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
