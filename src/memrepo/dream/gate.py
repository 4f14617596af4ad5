"""Whether a dream may run now, and what it may spend. Pure: records, counts and the time come in."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memrepo.dream.records import Record

TOKENS_PER_DAY = 50_000
PAUSE_H = 20
_DAY = dt.timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Gate:
    """The answer: `reason` says why not, "" when it may; `code` names the rule."""

    code: str = ""
    reason: str = ""

    @property
    def is_open(self) -> bool:
        """Whether a dream may run."""
        return not self.code


def spent_tokens(records: Sequence[Record], now: dt.datetime) -> int:
    """What the dreams of the last 24 hours have used, as their models counted it; failed ones count too."""
    return sum(one.input_tokens + one.output_tokens for one in records if now - one.at < _DAY)


def check_budget(records: Sequence[Record], now: dt.datetime, *, needed_tokens: int) -> Gate:
    """Whether a call of that size still fits into the day."""
    left = TOKENS_PER_DAY - spent_tokens(records, now)
    if needed_tokens <= left:
        return Gate()
    return Gate("budget", f"this dream needs about {needed_tokens:,} tokens, and {max(0, left):,} of the day are left")


def check_due(records: Sequence[Record], now: dt.datetime, *, is_on: bool, has_news: bool, has_changed: bool) -> Gate:
    """Whether it is time, by itself: dreaming is on, the last one is 20 hours ago, and there is something new.

    `has_changed`: memory is not what the last dream left. A dream that failed is no last one.
    """
    if not is_on:
        return Gate("off", "dreaming is off; memrepo settings set dream true")
    last = next((one for one in records if one.status in {"done", "waiting"}), None)
    if last is not None and now - last.at < dt.timedelta(hours=PAUSE_H):
        due = (last.at + dt.timedelta(hours=PAUSE_H)).astimezone(now.tzinfo)
        return Gate("pause", f"the last dream was at {last.at:%Y-%m-%d %H:%M}; the next is due at {due:%Y-%m-%d %H:%M}")
    if not has_news and not has_changed:
        return Gate("nothing-new", "nothing is new since the last dream")
    return Gate()
