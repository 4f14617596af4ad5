"""Options in the arguments of a program: which are there, and which words are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def words(text: str) -> frozenset[str]:
    """The words of a table's row."""
    return frozenset(text.split())


def is_option(argument: str, option: str) -> bool:
    """Whether an argument is this option. A short one counts within a cluster too, a long one from its beginning on."""
    if option.startswith("--"):
        name = argument.partition("=")[0]
        return len(name) > 2 and option.startswith(name)  # GNU takes any beginning that is not ambiguous
    if len(option) == 2:
        return argument.startswith("-") and not argument.startswith("--") and option[1] in argument[1:]
    return argument == option


def has_option(arguments: Sequence[str], *options: str) -> bool:
    """Whether one of these options is among the arguments."""
    return any(is_option(argument, option) for argument in arguments for option in options)


def has(*options: str) -> Callable[[Sequence[str]], bool]:
    """A check for one of these options."""
    return lambda arguments: has_option(arguments, *options)


def lacks(*options: str) -> Callable[[Sequence[str]], bool]:
    """A check that none of these options is there."""
    return lambda arguments: not has_option(arguments, *options)


def always(_: Sequence[str]) -> bool:
    """Whatever the arguments."""
    return True


def never(_: Sequence[str]) -> bool:
    """Whatever the arguments, no."""
    return False


def find_values(arguments: Sequence[str], *options: str) -> list[str]:
    """The values of these options: the next word, or what stands behind `=` or a short option's letter."""
    values: list[str] = []
    for at, argument in enumerate(arguments):
        for option in options:
            if argument == option:
                values += arguments[at + 1 : at + 2]
            elif option.startswith("--") and argument.startswith(option + "="):
                values.append(argument[len(option) + 1 :])
            elif len(option) == 2 and argument.startswith(option) and not argument.startswith("--"):
                values.append(argument[2:].removeprefix("="))
    return values


def iter_operands(arguments: Sequence[str], with_value: frozenset[str] = frozenset()) -> Iterator[str]:
    """The words that are neither options nor the next word after one that takes a value."""
    is_value = is_ended = False
    for argument in arguments:
        if is_value:
            is_value = False
        elif is_ended or not argument.startswith("-") or argument == "-":
            yield argument
        elif argument == "--":
            is_ended = True
        else:
            is_value = argument in with_value
