"""What a tool takes: one frozen dataclass per tool, from which both its JSON schema and the check of a call are made.

A call is parsed once, here, and all of its faults are told together. An argument that is null is one that was left out,
because many clients send every argument. Pure.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

from memrepo.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")

_SCHEMA = "schema"
_TYPES: Mapping[str, type | tuple[type, ...]] = {"string": str, "integer": int, "boolean": bool, "array": list}


def required_text(description: str) -> Any:
    """An argument that must be there, and hold more than white space."""
    return dataclasses.field(metadata={_SCHEMA: {"type": "string", "description": description, "minLength": 1}})


def optional_text(description: str, *, choices: Sequence[str] = ()) -> Any:
    """A text that may be left out, one of the `choices` where there are any."""
    schema: dict[str, object] = {"type": "string", "description": description}
    if choices:
        schema["enum"] = list(choices)
    return dataclasses.field(default=None, metadata={_SCHEMA: schema})


def flag(description: str) -> Any:
    """Yes or no; no when it is left out."""
    return dataclasses.field(
        default=False, metadata={_SCHEMA: {"type": "boolean", "description": description, "default": False}}
    )


def number(description: str, *, default: int, most: int) -> Any:
    """A whole number from 1 to `most`."""
    schema = {"type": "integer", "description": description, "minimum": 1, "maximum": most, "default": default}
    return dataclasses.field(default=default, metadata={_SCHEMA: schema})


def names(description: str, *, choices: Sequence[str]) -> Any:
    """Some of the `choices`; none when it is left out."""
    schema = {"type": "array", "description": description, "items": {"type": "string", "enum": list(choices)}}
    return dataclasses.field(default=(), metadata={_SCHEMA: schema})


def texts(description: str) -> Any:
    """Some texts; none when it is left out."""
    schema = {"type": "array", "description": description, "items": {"type": "string"}}
    return dataclasses.field(default=(), metadata={_SCHEMA: schema})


def make_schema(kind: type) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    fields = dataclasses.fields(kind)
    return {
        "type": "object",
        "properties": {field.name: dict(field.metadata[_SCHEMA]) for field in fields},
        "required": [field.name for field in fields if _is_required(field)],
        "additionalProperties": False,
    }


def parse_arguments(kind: type[T], raw: Mapping[str, object]) -> T:
    """Returns the arguments of a call. Errors: InvalidInput with every fault; no value is repeated in it."""
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    faults = [(_quote(name), "there is no such argument") for name in raw if name not in fields]
    values: dict[str, object] = {}
    for name, field in fields.items():
        value = raw.get(name)
        if value is None:
            if _is_required(field):
                faults.append((name, "it is missing"))
            continue
        fault = _find_fault(value, field.metadata[_SCHEMA])
        if fault:
            faults.append((name, fault))
        else:
            values[name] = tuple(value) if isinstance(value, list) else value
    if faults:
        told = "; ".join(f"{name}: {why}" for name, why in faults)
        raise InvalidInput(f"wrong arguments: {told}", hint="see the tool's input schema", faults=tuple(faults))
    return kind(**values)


def _find_fault(value: object, schema: Mapping[str, Any]) -> str:
    wanted = schema["type"]
    if not isinstance(value, _TYPES[wanted]) or (wanted == "integer" and isinstance(value, bool)):
        return f"it must be of type {wanted}"
    if isinstance(value, str):
        if "enum" in schema and value not in schema["enum"]:
            return f"it must be one of: {', '.join(schema['enum'])}"
        return "it is empty" if schema.get("minLength") and not value.strip() else ""
    if isinstance(value, list):
        choices = schema["items"].get("enum")
        if choices is None:
            return "" if all(isinstance(item, str) for item in value) else "each must be of type string"
        return "" if all(item in choices for item in value) else f"each must be one of: {', '.join(choices)}"
    if wanted == "integer" and isinstance(value, int) and not schema["minimum"] <= value <= schema["maximum"]:
        return f"it must be from {schema['minimum']} to {schema['maximum']}"
    return ""


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING


def _quote(name: object) -> str:
    return repr(str(name)[:40])
