"""From a name to its value: "the password is …", `api_key = …`, "PIN 4821", seed phrases, in many languages.

A password may be anything, so here the name decides and the value is only refused when it is a plain word of a
sentence, a placeholder or code. Values that look random are found by `opaque` as well; the two agree or add up.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from memrepo.policy.secrets import words
from memrepo.policy.secrets.deferred import deferred
from memrepo.policy.secrets.phrases import CLIENT_ID, find_providers, find_sentence, is_name, read_phrase, split_words
from memrepo.policy.secrets.shapes import Shape, find_shape, is_placeholder, is_short_hex
from memrepo.policy.secrets.spans import HIDDEN, Look, Span

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator

_TRIM = ".,;:!?…。，；：！？、)]}>\"'`”’»」』*_"
_OPEN = r"(?P<open>\\?(?:«\s|[\"'`“„«「『])?)"
_CLOSING = {"“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}
_FOR = (
    r"(?:for|to|of|on|at|in|from|für|von|vom|zum|zur|im|auf|beim|der|des|de|del|para|en|du|pour|sur|da|do|di|per|voor|van"
    r"|op|dla|na|для|от|к|till|til|för|untuk|cho|için)"
)
_IS = (
    r"(?:(?<![^\W\d_])(?:is|was|are|got|becomes|has\sbeen|wurde\sauf|ist|lautet|war|es|est|è|é|jest|är|er|on|je|olan|это|to|equals|adalah|là|eh)(?!\w)"
    r"|(?:[=:：—–→はがを是为為는은이]|->|هي|هو|है|คือ))"
)
_NOW = (
    r"(?:(?:now|still|currently|set\s+to|changed\s+to|reset\s+to|jetzt|aktuell|ahora|maintenant|simply|just|called|also"
    r"|:|：)\s+)?"
)

# A word that names a machine-made secret, the rest of its name, a connector, the value.
_ASSIGNED = deferred(
    r"""(?x)(?P<rest>[\w. \t]{0,24}+(?:-(?!>)[\w. \t]{0,24}+){0,3}+)(?:(?<=\s)(?=["'`“„«])|[\\"'`\])]{0,4}+\s{0,3}+
    (?P<connector>(?:[?+.|]?:{0,3}=>?|:{1,3}|=>|->|→|,|\(|>|\|(?=\s?["'`\w]))\s{0,4}(?:[|>][-+]?\s{1,12})?))
    (?P<open>[\\"'`“„«]{0,3})(?P<value>[^\s"'`<>,;()\[\]{}“”„»\\\ue000]{6,})"""
)
# The same for a password, which may hold any character.
_PASSWORD_ASSIGNED = deferred(
    rf"""(?x)(?P<rest>[\w.\-]{{0,20}}(?:\s?\([^()\n]{{0,30}}\))?)[\\"'`\])]{{0,4}}\s{{0,2}}
    (?P<connector>(?:={{2,3}}(?=\s?["'])|[?+.|]?:{{0,3}}=>?|[:：]{{1,3}}(?:\*\*(?=\s))?|=>|->|→|>|\||\((?=["']))
        \s{{0,4}}(?:[|>][-+]?\s{{1,12}})?)
    {_OPEN}(?P<value>\S{{1,200}})"""
)
_PASSWORD_SAID = deferred(
    rf"""(?xi)(?P<rest>\w{{0,3}}(?:\s+(?:value|string|number|codes?|wert|numero|número))?
        (?:\s*\([^()\n]{{0,40}}\)
        |(?:\s+[^\W\d_]{{2,14}}){{0,2}}?\s+{_FOR}\s+(?:[^\n:=;.]|\.(?=\S)){{1,60}}?
        |\s+[^\W\d_]{{2,14}}(?!=)|,\s[^,\n:=]{{2,60}},
        |(?:\s[^\W\d_]{{2,14}}){{0,4}}[,.;]\s(?:it|that)(?:['’]s|(?=\sis))
        |の[^\n]{{1,12}}?|[的]?)?)
    \s*(?:{_IS}|(?<=t['’]s))\s*{_NOW}{_OPEN}(?P<value>\S{{1,200}})"""
)
_PASSWORD_CHANGED = deferred(
    rf"""(?xi)(?:\s+[^\n:=;.]{{0,50}}?)?\s(?:to|auf|a|en|par|in|zu|with)\s+{_OPEN}(?P<value>\S{{4,200}})"""
)
_CHANGE_VERB = deferred(
    r"(?i)\b(?:set|changed?|reset|rotated?|updated?|switch|geändert|gesetzt|ändere|setze|cambi\w+|chang\w+|ändert)\b"
)
_PASSWORD_BESIDE = deferred(rf"""(?x)[sа-яёіїє]{{0,3}}(?:[ \t]{{1,2}}|(?=[「『“«])){_OPEN}(?P<value>\S{{4,100}})""")
_PASSWORD_FAR = deferred(rf"""(?xi)\w{{0,2}}\s{_FOR}(?:\s[^\W\d_]{{1,20}}){{1,3}}?\s{_OPEN}(?P<value>\S{{6,100}})""")
_CAPITAL_AND_NUMBER = deferred(r"[A-Z][a-z]+\d{3,}")
# "`x9!kd` is the password": read back from the word.
_PASSWORD_BEFORE = deferred(
    r"""(?xi)(?:["'`“„«「『](?P<quoted>[^"'`”»」』\n]{3,80})["'`”»」』]|(?<![^\s(])(?P<bare>[^\s"'`]{5,60}))
    \s{0,2}(?:\(|,\s|(?:is|as|for|ist|als|es|como|est|comme|è|come|は|为|作为|是)\s{1,2})
    (?:(?:the|a|an|my|our|his|her|their|your|das|die|der|unser|mein|la|el|le|il|nuestra|notre|current|new|default)\s){0,3}
    (?:[\w.'’/-]{1,24}\s){0,3}$"""
)
_PASS = deferred(
    rf"""(?:[_-][A-Za-z]{{1,12}}|\s{_FOR}\s[^\n:=;.]{{1,40}}?(?=:\s|\s=\s|\sis\s))?["'\]]{{0,2}}\s?(?:[:=]=?>?|\s(?:is\s)?)\s?["'`]?(?P<value>[^\s"'`]{{4,100}})"""
)
_PAIR = deferred(
    r"""(?x)(?:name|s)?(?:\s(?:to|for|on|at|in|of|für|zu|bei|de|para|pour|per)\s[\w. -]{2,40}?
        (?=:|\s(?:are|is|with|as)\s))?
    \W{1,3}(?:(?:are|is|with|as)\W{1,2})?(?P<who>[\w.@+-]{2,40})\s?(?:/|:|\s\|\s|,\s)\s?
    (?P<value>[^\s"'`,;]{4,80})"""
)
_CODE_VALUE = r"(?:(?=[a-z]*\d)[a-z0-9]{4,12}(?:-[a-z0-9]{3,12}){0,7}|[a-z0-9]{4,6}-[a-z0-9]{4,6})"
_CODES = deferred(
    rf"""(?xi)s?(?:\s+(?:number|codes?|nummer))?
    (?:\s*\([^()\n]{{0,40}}\)|\s+{_FOR}\s[^\n:=;.\d]{{1,60}}?|の[^\n\d]{{1,12}}?)?
    \s*(?:{_IS}|sind|son|sont|sono|são|[#])?\s*{_NOW}["'`“„«]?
    (?P<value>(?:[a-z0-9]{{3,12}}(?:-[a-z0-9]{{3,12}}){{1,7}}|\d{{3,12}}|(?=[a-z]{{0,15}}\d)[a-z0-9]{{6,16}})[#]?
        (?:["'`]?(?:,?\s(?:and\s|und\s|y\s|et\s)?|,|\s?/\s?)["'`]?{_CODE_VALUE}(?!\w)){{0,24}})(?![\w%])"""
)
_UNIT_AFTER = deferred(
    r"""(?xi)["'`]?\s?(?:-?(?:character|char|digit|day|hour|minute|second|month|week|year|time|letter|symbol|word|bit|byte
    |attempt|Zeichen|Stellen?|stellig|Tage|Ziffern|caracteres|d[ií]as|cifras|d[ií]gitos|caract[eè]res|jours|chiffres
    |位|个字符|文字|桁|日|天|ヶ月)|[%°])"""
)
# "… is moonlight for now": only a thing that changes has a time.
_FOR_A_TIME = deferred(r"(?i)\s(?:until|till|for\snow|since|from\snow|as\sof|bis|seit|hasta|jusqu|fino\sa|até)(?!\w)")
_WIFI = deferred(
    r"""(?xi)[^\n.;=]{0,60}?(?<!\w)(?:key|psk|schlüssel|clave|cl[eé]|chiave|chave)s?
    (?:\s(?:for|of|in|at|de|für)\s[^\n.;=:]{1,30}?(?=:|\sis|\ses|\sist|\sest))?(?:\s(?:is|ist|es|est))?
    [ :=]{1,3}["'`]?(?P<value>[^\s"'`]{6,63})"""
)
_WIFI_IS = deferred(r"""(?i)[\w ]{0,20}?(?:\s(?:is|ist|es|est|è|é)\s|[:=]\s?)["'`]?(?P<value>[^\s"'`]{6,63})""")
_KEY_OF = deferred(r"(?i)\b(?:key|clave|cl[eé]|chiave|chave|schlüssel)\s(?:\w{1,4}\s){0,2}$")
_SEED = deferred(
    r"""(?xi)s?(?:\s?(?:phrase|words?|code))?[^\n:=]{0,40}?(?:\bis\b|:|=|\bare\b)\s{0,3}["'`]?
    (?P<value>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})(?![a-z])"""
)
_NOT_SEED = words.word_set("the and for was were are its has had our your you not his her but")  # not in BIP 39
_PLAIN_NUMBERED = deferred(
    r"""(?xi)v?\d+(?:[.\-_/:]\w+)*|[a-z]{1,4}\d{1,3}|\d+[a-z]{1,3}|\w+/\w+(?:/\w+)*|[a-z]+-\d{1,2}
    |(?:sha|md|bcrypt|argon|utf|base|oauth|aes|rsa|ed|x|pbkdf|http|tls|ipv|s|k|o)-?\d+\w*|\d{4}-\d\d-\d\d\S*
    |(?-i:(?:[a-z]+(?:[-_.][a-z0-9]+){0,9}|v?\d[\d.]*)(?:[/:](?:[a-z]+(?:[-_.][a-z0-9]+){0,9}|v?\d[\d.]*))+)"""
)


def find_named_values(text: str, lower: str, gates: Iterable[str], found: Iterable[Span], look: Look) -> Iterator[Span]:
    """Yields values that follow, or stand right before, a word that names a secret.

    `gates` are the words to look for; what starts where `found` starts has a better name already.
    """
    readers = _readers()
    assigned = {span.start for span in found}
    for gate in gates:
        for at, after in _iter_places(lower, gate) if gate in readers else ():
            for read in readers[gate]:
                span = read(text, at, after)
                if span:
                    yield span
            if gate in words.ASSIGNED_STEMS:
                match = _ASSIGNED().match(text, after)
                # `api_token_secret = …` meets its value three times; once is enough.
                if match and match.start("value") not in assigned:
                    assigned.add(match.start("value"))
                    span = _read_assigned(text, at, match)
                    if span:
                        yield span
                    else:
                        look.let_go += 1


def _iter_places(lower: str, stem: str) -> Iterator[tuple[int, int]]:
    at = lower.find(stem)
    while at >= 0:
        after = at + len(stem)
        yield at, after
        at = lower.find(stem, after)


def _read_assigned(text: str, at: int, match: re.Match[str]) -> Span | None:
    name_end = match.end("rest")
    if match["connector"] == ", " and not match["open"]:
        return None
    if match["connector"] == ":" and "/" in text[max(0, at - 40) : at].rpartition(" ")[2]:
        return None  # `registry/secret-sync:3fa1…`: an image and its tag
    if match["connector"] == "=" and not is_name(text[max(0, name_end - 40) : name_end].rpartition(" ")[2]):
        return None  # an equals sign inside the value
    value = match["value"].rstrip(_TRIM)
    if len(value) < 6 or (value.isalpha() and len(value) < 14) or is_short_hex(value):
        return None
    shape = find_shape(value if value.isalnum() else value.translate(_NOT_TOKEN_CHARS))
    if (shape is Shape.WORDS and not (match["open"] and _is_mixed(value))) or is_placeholder(value):
        return None
    phrase = text[max(0, at - 60) : name_end].rstrip()
    phrase = phrase[find_sentence(phrase) :]
    verdict = read_phrase(phrase)
    if not verdict or (shape is Shape.DIGITS and len(value) < 12):
        return None
    is_id = verdict == CLIENT_ID or shape is Shape.DIGITS
    if is_id and not find_providers(split_words(phrase)) & words.ID_PROVIDERS:
        return None
    start = match.start("value")
    return Span(start, start + len(value), verdict)


_NOT_TOKEN_CHARS = str.maketrans("", "", "=:|@!$^*&#?~")


def _is_mixed(value: str) -> bool:
    """Letters, a digit and a mark that joins no words: nobody names a thing like that."""
    return (
        any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and any(not char.isalnum() and char not in "-_./:" for char in value)
    )


# -- passwords


def _read_password(text: str, at: int, after: int) -> Span | None:
    match = _PASSWORD_ASSIGNED().match(text, after)
    if match and _names_password(match["rest"]) and not (match["rest"] and match["connector"] == "("):
        if match["value"][0] == HIDDEN:
            return None
        span = _accept(text, match, "beside" if match["connector"] == "(" else "assigned")
        if span:
            return span
    match = _PASSWORD_SAID().match(text, after)
    if match and match["value"][0] == HIDDEN:
        return None
    span = _accept(text, match, "said") if match and _names_password(match["rest"]) else None
    if span is None and _CHANGE_VERB().search(text, max(0, at - 60), at):
        match = _PASSWORD_CHANGED().match(text, after)
        span = _accept(text, match, "said") if match else None
    if span is None:
        match = _PASSWORD_BESIDE().match(text, after)
        span = _accept(text, match, "beside") if match else None
    return span or _read_far(text, after) or _read_back(text, at)


def _read_far(text: str, after: int) -> Span | None:
    """Reads "password for the router x9!kd", without a verb, when the value can be nothing else."""
    match = _PASSWORD_FAR().match(text, after)
    span = _accept(text, match, "beside") if match else None
    if span is None:
        return None
    value = text[span.start : span.end]
    return span if _is_mixed(value) or _CAPITAL_AND_NUMBER().fullmatch(value) else None


def _names_password(rest: str) -> bool:
    """`password_file`, `PasswordPolicy`, `passwordHash` name something else."""
    for word in split_words(rest):
        if word in words.PREPOSITIONS:
            break
        if word in words.OTHER_HEADS or word in words.OPEN_HEADS:
            return False
    return True


def _accept(text: str, match: re.Match[str], how: str) -> Span | None:
    start = match.start("value")
    value, is_closed = _read_value(text, start, match["value"], match["open"].strip()[-1:])
    if not value or HIDDEN in value or is_placeholder(value) or _UNIT_AFTER().match(text, start + len(value)):
        return None
    end = start + len(value)
    folded = value.lower().strip("!?.,;:")
    if folded in words.PLAIN_WORDS:
        return None
    if _is_telling(value):
        return Span(start, end, "password")
    if len(value) < 3 or how == "beside" or not any(map(str.isalnum, value)):
        return None
    if value.isdigit():
        is_password = len(value) >= 4 or is_closed
    elif is_closed:
        is_password = True
    elif how == "assigned" and "=" in match["connector"] and ":" not in match["connector"]:
        is_password = len(value) > 3 and "(" not in value
    else:
        is_password = (
            (_ends_sentence(text, end) or (how == "said" and _FOR_A_TIME().match(text, end) is not None))
            and len(value) >= 5
            and any(map(str.isalpha, value))
            and not folded.endswith(words.PLAIN_ENDINGS)
        )
    return Span(start, end, "password") if is_password else None


def _read_value(text: str, start: int, value: str, quote: str) -> tuple[str, bool]:
    """Reads on to the closing quote when there is one on the line; else cuts what ends a clause."""
    closing = _CLOSING.get(quote, quote)
    if closing:
        end = text.find(closing, start, start + 120)
        if end > start and "\n" not in text[start:end]:
            return text[start:end].rstrip("\\"), True
    for mark in "\"'`<>“”»」』，。；、）】":
        cut = value.find(mark)
        if cut > 0:
            value = value[:cut]
    if not value.isascii():
        foreign = next((i for i, char in enumerate(value) if ord(char) > 0x2E00), len(value))
        if foreign < len(value):  # Chinese, Japanese or Korean goes on without a space
            value = value[:foreign] if foreign >= 4 else ""
    value = value.partition("\\n")[0]
    return value.rstrip(".,;:…)]}\"'`*|\\"), False


def _is_telling(value: str) -> bool:
    """Tells whether a value is a password by itself: chosen with digits and marks, or random."""
    return _looks_chosen(value) or (
        len(value) > 6 and value.isascii() and find_shape(value) in {Shape.OPAQUE, Shape.HEX}
    )


def _looks_chosen(value: str) -> bool:
    """Letters with digits or marks inside, as a chosen password has and a word has not."""
    core = value.strip("-.,'’")
    if len(core) < 5 or core.isalpha() or "://" in core or not any(map(str.isalpha, core)):
        return False
    if find_shape(core) is Shape.UUID:
        return False
    marks = sum(not char.isalnum() and char not in "-._'’/:" for char in core)
    if any(map(str.isdigit, core)):
        return marks > 0 or not _PLAIN_NUMBERED().fullmatch(core)
    return marks > 0 and not core[-1].isalnum() and core[0].isalpha()


def _ends_sentence(text: str, end: int) -> bool:
    return (
        not text[end : end + 2].strip(" .!\"'`)")
        or text[end : end + 1] in ",;)\n"
        or text[end : end + 2] in {". ", "! "}
    )


def _read_back(text: str, at: int) -> Span | None:
    left = text[max(0, at - 110) : at]
    match = _PASSWORD_BEFORE().search(left)
    if match is None or not _names_password(text[at : at + 40].partition(".")[0]):
        return None
    group = "quoted" if match["quoted"] else "bare"
    said = split_words(left[: match.start(group)])
    if said and said[-1] in words.OPEN_LABELS:
        return None
    value = match[group].rstrip(_TRIM)
    if is_placeholder(value) or value.lower() in words.PLAIN_WORDS or HIDDEN in value or not _is_telling(value):
        return None
    start = at - len(left) + match.start(group)
    return Span(start, start + len(value), "password")


def _read_pair(text: str, at: int, after: int) -> Span | None:
    """`user/pass: admin / x9!kd`, `DB_PASS=…`, "login bob, pass …": words too common to stand alone."""
    is_pass = text[at:after].lower() in {"pass", "pw"}
    if is_pass and (text[after : after + 1].islower() or (text[at - 1 : at].isalpha() and text[at].islower())):
        return None
    if text[at - 2 : at] == "//":
        return None  # the user of a URL
    match = (_PASS() if is_pass else _PAIR()).match(text, after)
    if match is None:
        return None
    value = match["value"].rstrip(_TRIM)
    if is_placeholder(value) or value.lower() in words.PLAIN_WORDS or not _looks_chosen(value) or HIDDEN in value:
        return None
    if value.endswith("=") or (not is_pass and ("=" in value or "(" in value)):
        return None  # arguments of a call
    return Span(match.start("value"), match.start("value") + len(value), "password")


def _read_wifi(text: str, at: int, after: int) -> Span | None:
    """Reads the key of a wireless network: a password that goes by the name of a key."""
    match = (_WIFI_IS() if _KEY_OF().search(text, max(0, at - 30), at) else _WIFI()).match(text, after)
    value = match["value"].rstrip(_TRIM) if match else ""
    if match is None or HIDDEN in value or is_placeholder(value) or not _is_telling(value):
        return None
    return Span(match.start("value"), match.start("value") + len(value), "password")


# -- codes and phrases


def _read_codes(text: str, at: int, after: int) -> Span | None:
    if text[at - 1 : at].isalpha() or (text[after : after + 1].isalpha() and text[after : after + 1] not in "sS"):
        return None
    match = _CODES().match(text, after)
    if match is None or _UNIT_AFTER().match(text, match.end()) or not any(map(str.isdigit, match["value"])):
        return None
    kind = "pin" if text[at:after].lower() in {"pin", "cvv", "cvc", "пин", "passcode"} else "access-code"
    return Span(match.start("value"), match.end("value"), kind)


def _read_seed_phrase(text: str, _at: int, after: int) -> Span | None:
    match = _SEED().match(text, after)
    if match is None:
        return None
    found = split_words(match["value"])
    if len(found) % 3 or _NOT_SEED.intersection(found):
        return None
    return Span(match.start("value"), match.end("value"), "seed-phrase")


@cache
def _readers() -> dict[str, tuple[Callable[[str, int, int], Span | None], ...]]:
    """Maps a word to what reads on from it."""
    table: dict[str, tuple[Callable[[str, int, int], Span | None], ...]] = {}
    for stems, read in (
        (words.ASSIGNED_STEMS, None),
        (words.PASSWORD_WORDS, _read_password),
        (words.PAIR_WORDS, _read_pair),
        (words.CODE_WORDS, _read_codes),
        (words.SEED_WORDS, _read_seed_phrase),
        (words.WIFI_WORDS, _read_wifi),
    ):
        for stem in stems:
            table[stem] = (*table.get(stem, ()), *((read,) if read else ()))
    return table
