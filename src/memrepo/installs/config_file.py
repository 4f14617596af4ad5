"""A host's settings file as bytes and as text: UTF-8, its byte order mark kept."""

from __future__ import annotations

from memrepo.errors import InvalidInput

_MARK = "\ufeff"


def decode_config(data: bytes, *, file: str) -> tuple[str, str]:
    """The byte order mark, or "", and the text behind it. Errors: InvalidInput with file and line."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InvalidInput(
            f"{file} is not UTF-8 (line {line}); nothing was changed",
            hint=f"save it as UTF-8 in an editor: {file}",
            file=file,
            line=line,
        ) from None
    return (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)
