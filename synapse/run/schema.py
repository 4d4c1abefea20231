"""The data that a step asks for: a pydantic model, or a JSON schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from synapse.api.reply import NoData, Reply
from synapse.errors import UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

    Schema = type[BaseModel] | dict[str, Any]

_ASK = """

Reply with one JSON document and nothing else. It must be valid against this JSON schema:
```json
{schema}
```"""
_REPAIR = """\
Your reply does not fit: {why}

Reply again with one JSON document and nothing else, valid against this JSON schema:
```json
{schema}
```"""


class Mismatch(Exception):
    """The reply is not what the schema describes; the text says why."""


class Expected:
    def __init__(self, schema: Schema) -> None:
        self._model = schema if isinstance(schema, type) else None
        if isinstance(schema, dict):
            self._document = schema
            self._check_schema(schema)
        elif self._model is not None and hasattr(self._model, "model_json_schema"):
            self._document = self._model.model_json_schema()
        else:
            raise UsageError("`schema` is neither a pydantic model nor a dict with a JSON schema.")

    def prompt(self, text: str) -> str:
        return text + _ASK.format(schema=self._text)

    def repair(self, why: Mismatch) -> str:
        return _REPAIR.format(why=why, schema=self._text)

    def value(self, reply: Reply) -> Any:
        """The data of a reply: an instance of the model, or what the JSON says. Raises Mismatch."""
        try:
            data = reply.data
        except NoData as error:
            raise Mismatch(error.what) from error
        if self._model is not None:
            from pydantic import ValidationError

            try:
                return self._model.model_validate(data)
            except ValidationError as invalid:
                raise Mismatch(_said(invalid)) from invalid
        import jsonschema

        try:
            jsonschema.validate(data, self._document)
        except jsonschema.ValidationError as invalid:
            where = "/".join(map(str, invalid.absolute_path))
            raise Mismatch(f"{where}: {invalid.message}" if where else invalid.message) from invalid
        return data

    @property
    def _text(self) -> str:
        return json.dumps(self._document, ensure_ascii=False, indent=1)

    @staticmethod
    def _check_schema(document: dict[str, Any]) -> None:
        import jsonschema

        try:
            jsonschema.validators.validator_for(document).check_schema(document)
        except jsonschema.SchemaError as error:
            raise UsageError(f"`schema` is not a JSON schema: {error.message}.") from error


def _said(invalid: Any) -> str:
    """Each error of pydantic in a line, without the addresses of its documentation."""
    lines = []
    for error in invalid.errors(include_url=False):
        where = ".".join(map(str, error["loc"]))
        lines.append(f"{where}: {error['msg']}" if where else str(error["msg"]))
    return "; ".join(lines)
