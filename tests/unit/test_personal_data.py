"""Personal data in readers' texts."""

import pytest

from app.domain.personal_data import without_personal_data
from tests.recorded_cases import case_lines


@pytest.mark.parametrize(("text", "masked"), case_lines("personal_data"))
def test_addresses_and_numbers_of_people_are_masked_and_others_stay(text: str, masked: str) -> None:
    assert without_personal_data(text) == masked


@pytest.mark.parametrize(
    "part", ["+1", "0", "a at b dot ", "2001:", "a (at) b.", "(020) 1", "a@", "1:", "1.", "+1(2)"]
)
def test_long_runs_are_read_in_linear_time(part: str) -> None:
    assert without_personal_data((part + "1" * 40 + "x ") * 4_000)
