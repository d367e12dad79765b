"""What does not fit a JSON Schema: the part of it that the published ones use."""

from __future__ import annotations

from typing import Any


def problems(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """The part of JSON Schema that the published schema uses."""
    if "$ref" in schema:
        return problems(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, at)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            tried = [problems(value, option, root, at) for option in schema[key]]
            return [] if any(not t for t in tried) else [f"{at}: fits none of {key}: {tried}"]
    found: list[str] = []
    if "const" in schema and value != schema["const"]:
        found.append(f"{at}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is not one of {schema['enum']}")
    types = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "null": type(None),
    }
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, types[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [*found, f"{at}: {type(value).__name__} is no {kind}"]
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{at}: lacks {k}" for k in schema.get("required", []) if k not in value]
        for key, item in value.items():
            if key in known:
                found += problems(item, known[key], root, f"{at}.{key}")
            elif schema.get("additionalProperties") is False:
                found.append(f"{at}: {key} is not in the schema")
            elif isinstance(schema.get("additionalProperties"), dict):
                found += problems(item, schema["additionalProperties"], root, f"{at}.{key}")
    if isinstance(value, list):
        inner = schema.get("prefixItems")
        for i, item in enumerate(value):
            of = inner[i] if inner and i < len(inner) else schema.get("items", {})
            found += problems(item, of if isinstance(of, dict) else {}, root, f"{at}[{i}]")
    return found
