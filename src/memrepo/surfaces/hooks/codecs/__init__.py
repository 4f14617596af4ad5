"""One module per host: how its JSON reads and what it takes as an answer, with the page it was read from.

A codec decides nothing. What it does not know it leaves out; a field of the wrong type is a field that is not there.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memrepo.surfaces.hooks.message import Codec

HOSTS = ("claude-code", "codex", "gemini", "cursor", "opencode", "vscode")


def load_codec(host: str) -> Codec:
    """The codec of one of `HOSTS`."""
    codec: Codec = import_module(f"{__name__}.{host.replace('-', '_')}").CODEC
    return codec
