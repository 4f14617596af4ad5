"""Settings for the whole suite: the checkout on the import path, and hypothesis profiles."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

_SLOW_IS_FINE = [HealthCheck.too_slow]
# No deadline: tests never time.
settings.register_profile("suite", max_examples=100, deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("fuzz", max_examples=20_000, deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.load_profile(os.environ.get("MEMREPO_HYPOTHESIS_PROFILE", "suite"))
