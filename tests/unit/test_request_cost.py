"""Fewer requests run at once the longer they take."""

from __future__ import annotations

from dataclasses import dataclass

from app.api.limits import LEAST_SLOTS, LONGEST_WAIT, FairSlots, RequestCost


@dataclass
class Cpu:
    """CPU time and time of day, which are equal while requests run."""

    seconds: float = 0.0
    reads: int = 0

    def __call__(self) -> float:
        self.reads += 1
        return self.seconds


def served(shares: FairSlots, cpu: Cpu, seconds: float, count: int = 200) -> None:
    for _ in range(count):
        assert shares.take("a")
        cpu.seconds += seconds
        shares.release("a")


def slots(shares: FairSlots) -> int:
    clients = 0
    while shares.take(f"client {clients}"):
        clients += 1
    for number in range(clients):
        shares.release(f"client {number}")
    return clients


def test_slow_requests_get_as_many_slots_as_fit_into_the_longest_wait() -> None:
    cpu = Cpu()
    shares = FairSlots(64, RequestCost(cpu, cpu))
    assert slots(shares) == 64
    served(shares, cpu, 0.005)
    assert slots(shares) == 64
    served(shares, cpu, 0.05)
    assert abs(shares.free - LONGEST_WAIT / 0.05) <= 2
    served(shares, cpu, 1.0)
    assert shares.free == LEAST_SLOTS
    served(shares, cpu, 0.005)
    assert slots(shares) == 64


def test_cpu_time_between_requests_is_nobodys() -> None:
    cpu = Cpu()
    shares = FairSlots(64, RequestCost(cpu, cpu))
    for _ in range(200):
        cpu.seconds += 5
        served(shares, cpu, 0.001, 1)
    assert shares.cost is not None
    assert shares.cost.each < 0.002


def test_requests_that_run_at_once_share_what_was_used() -> None:
    cpu = Cpu()
    shares = FairSlots(64, RequestCost(cpu, cpu))
    for _ in range(50):
        for client in "abcd":
            assert shares.take(client)
        for client in "abcd":
            cpu.seconds += 0.01
            shares.release(client)
    assert shares.cost is not None
    assert 0.008 < shares.cost.each < 0.012


def test_the_first_request_which_loads_models_does_not_count() -> None:
    cpu = Cpu()
    shares = FairSlots(64, RequestCost(cpu, cpu))
    served(shares, cpu, 0.5, 1)
    assert shares.free == 64
    served(shares, cpu, 0.02, 5)
    assert shares.free == 64


def test_the_cpu_clock_is_read_for_some_requests_only() -> None:
    cpu = Cpu()
    shares = FairSlots(64, RequestCost(cpu, lambda: cpu.seconds))
    served(shares, cpu, 0.003)
    assert shares.cost is not None
    assert 0.0028 < shares.cost.each < 0.0032
    assert cpu.reads < 70


def test_the_cpu_clock_is_read_seldom_while_requests_overlap() -> None:
    cpu = Cpu()
    shares = FairSlots(64, RequestCost(cpu, lambda: cpu.seconds))
    assert shares.take("a")
    for _ in range(200):
        assert shares.take("b")
        cpu.seconds += 0.003
        shares.release("b")
    assert shares.cost is not None
    assert 0.0028 < shares.cost.each < 0.0032
    assert cpu.reads < 40
