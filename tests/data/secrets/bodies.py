"""Random bodies for made-up tokens, from a short notation, so that no token stands in the repository.

`ghp_{an:36}` is the text `ghp_` and 36 random letters and digits. `SPECS` says what each name draws from. The same seed
gives the same bodies.
"""

from __future__ import annotations

import base64
import re
import string
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

_LOWER = string.ascii_lowercase + string.digits
_ALNUM = string.ascii_letters + string.digits
SPECS: dict[str, str] = {
    "an": _ALNUM,
    "lo": _LOWER,
    "up": string.ascii_uppercase + string.digits,
    "hx": "0123456789abcdef",
    "HX": "0123456789ABCDEF",
    "ah": "abcdefgh0123456789",
    "us": _ALNUM + "_-",
    "ls": _LOWER + "_-",
    "le": _LOWER + "=_-",
    "b64": _ALNUM + "+/",
    "kr": _LOWER + "/=_+-",
    "dg": string.digits,
    "b32": string.ascii_uppercase + "234567",
    "b58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "dot": _ALNUM + "_.-",
}
_HOLE = re.compile(r"\{(\w+)(?::(\d+))?\}")
_WORDS = ("river", "copper", "maple", "falcon", "harbor", "winter", "orange", "tiger", "summit", "violet", "meadow")
_MARKS = "!#%&*+?@"
_PASSWORDS = 8
_SURE_DIGIT = 8  # bodies from this length on hold a digit


def fill(pattern: str, rng: random.Random) -> str:
    """Replaces every hole of a pattern by a random body."""
    return _HOLE.sub(lambda match: _body(match[1], int(match[2] or 0), rng), pattern)


def _body(name: str, size: int, rng: random.Random) -> str:
    if name in SPECS:
        return _draw(name, size, rng)
    if name not in _MAKERS:
        raise ValueError(f"no body is called {name!r}")
    return _MAKERS[name](size, rng)


def _draw(name: str, size: int, rng: random.Random) -> str:
    while True:
        body = "".join(rng.choices(SPECS[name], k=size))
        if size < _SURE_DIGIT or any(map(str.isdigit, body)):
            return body


def _make_jwt(_size: int, rng: random.Random) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    claims = f'{{"sub":"{rng.getrandbits(40)}","iat":{rng.getrandbits(30)}}}'.encode()
    return f"{head}.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.{_draw('us', 43, rng)}"


def _make_basic(_size: int, rng: random.Random) -> str:
    return base64.b64encode(f"{rng.choice(_WORDS)}:{make_password(rng)}".encode()).decode()


def _make_date(_size: int, rng: random.Random) -> str:
    return f"20{rng.randint(20, 26)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"


def make_password(rng: random.Random) -> str:
    """Makes a password of one of the ways in which people choose them."""
    word, other = rng.sample(_WORDS, 2)
    number, mark = rng.randint(10, 9999), rng.choice(_MARKS)
    return (
        f"{word.title()}{number}{mark}",
        f"{word}{number}",
        f"{word.title()}{mark}{other.title()}{number}",
        f"{number}{word.title()}{mark}",
        "".join(rng.choices(_ALNUM + "!#%*", k=14)) + "9x",
        f"{word[:2].title()}{mark}{other}{number}",
        f"{word}-{other}-{number}-{rng.choice(_WORDS)}X",
        f"{word.replace('e', '3').replace('o', '0').title()}{number}{mark}",
    )[rng.randrange(_PASSWORDS)]


def make_card(rng: random.Random) -> str:
    """Makes a card number of one of the issuers, with its check digit, grouped or not."""
    prefix, length = rng.choice([("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("34", 15), ("37", 15), ("6011", 16)])
    digits = prefix + "".join(rng.choices(string.digits, k=length - len(prefix) - 1))
    total = 0
    for index, char in enumerate(reversed(digits)):
        number = int(char) * (1 if index % 2 else 2)
        total += number - 9 if number > 9 else number
    digits += str(-total % 10)
    groups = [digits[:4], digits[4:10], digits[10:]] if length == 15 else [digits[i : i + 4] for i in range(0, 16, 4)]
    return rng.choice([" ", "-", ""]).join(groups)


_MAKERS: dict[str, Callable[[int, random.Random], str]] = {
    "uuid": lambda _size, rng: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
    "password": lambda _size, rng: make_password(rng),
    "basic": _make_basic,
    "jwt": _make_jwt,
    "pin": lambda size, rng: "".join(rng.choices(string.digits, k=size or 4)),
    "word": lambda _size, rng: rng.choice(_WORDS),
    "card": lambda _size, rng: make_card(rng),
    "date": _make_date,
    "n": lambda size, rng: str(rng.randint(1, 10**size - 1)),
}
