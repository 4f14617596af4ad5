"""Settings for the whole suite: the checkout on the import path, hypothesis profiles, and a fresh memory repo."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.memory import Memory

_SLOW_IS_FINE = [HealthCheck.too_slow]
# No deadline: tests never time.
# The suite tries the same examples in every run, so that it fails for a change and not for a draw; `fuzz` draws anew.
settings.register_profile(
    "suite", max_examples=100, deadline=None, derandomize=True, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile("fuzz", max_examples=20_000, deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.load_profile(os.environ.get("MEMREPO_HYPOTHESIS_PROFILE", "suite"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """One fresh memory repo of the test's own."""
    from tests.kit.memory import make_memory

    made = make_memory(tmp_path)
    yield made
    made.store.close()
