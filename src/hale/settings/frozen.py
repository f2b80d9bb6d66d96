"""An object of settings that cannot change: None is the default, and it tells itself in short."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator


class Frozen(BaseModel):
    """Settings without fields: what holds for any, of unknown names, None and their text."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    shown: ClassVar[tuple[str, ...]] = ()  # by name in the text; the others are counted

    @model_validator(mode="before")
    @classmethod
    def _given(cls, values: Any) -> Any:
        """None means the default, so it is not given."""
        if not isinstance(values, dict):
            return values
        return {name: value for name, value in values.items() if value is not None}

    def __repr__(self) -> str:
        """The settings that are shown, and how much else is not as it comes."""
        told = [
            f"{name}={value!r}" for name in self.shown if (value := getattr(self, name)) is not None
        ]
        usual = type(self).model_validate({})
        others = sum(
            getattr(self, name) != getattr(usual, name)
            for name in type(self).model_fields
            if name not in self.shown
        )
        more = f"; {others} others not as they come: see model_dump()" if others else ""
        return f"{type(self).__name__}({', '.join(told)}{more})"

    __str__ = __repr__
