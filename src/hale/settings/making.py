"""Settings from what was given by name: other words for them, and all faults at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from hale.errors import SettingsError, nearest
from hale.settings.fields import Settings
from hale.settings.flags import Flags


def make_settings(**values: object) -> Settings:
    """Settings from keyword arguments; None means the default; all faults at once."""
    try:
        return Settings.model_validate(by_name(values))
    except ValidationError as error:
        faults = []
        for fault in error.errors():
            name = ".".join(str(part) for part in fault["loc"])
            message = fault["msg"].removeprefix("Value error, ")
            if fault["type"] == "extra_forbidden":
                message = f"there is no such setting; {_instead_of(name)}"
            faults.append(f"{name}: {message}" if name else message)
        raise SettingsError(faults) from None


def by_name(values: Mapping[str, object]) -> dict[str, object]:
    """Values of settings under their own names: ``lr`` and ``lambda_`` are known as well."""
    known = aliases()
    found: dict[str, object] = {}
    for word, value in values.items():
        name = known.get(word.removesuffix("_"), word)
        if name in found and value is not None and found[name] is not None:
            raise SettingsError([f"{name}: given twice, also as {word}"])
        found[name] = found.get(name) if value is None else value
    return found


def aliases() -> dict[str, str]:
    """Other words for settings, as the command line has them: lr, lambda, d."""
    return {yes: name for name, yes, _ in _words() if yes != name}


def _instead_of(word: str) -> str:
    """What to give in place of a word that is no setting."""
    for name, _, no in _words():
        if no == word:
            return f"give {name}=False"
    meant = nearest(word, [*Settings.model_fields, *aliases()])
    if meant:
        return f"did you mean {' or '.join(meant)}?"
    return f"there are {', '.join(Settings.model_fields)}"


def _words() -> Iterator[tuple[str, str, str]]:
    """A setting, a word for it and, where it is yes or no, one against it."""
    for name, field in Settings.model_fields.items():
        flags = [one.names for one in field.metadata if isinstance(one, Flags)]
        for flag in (flag for names in flags for flag in names):
            yes, _, no = flag.replace("-", "_").partition("/")
            yield name, yes.strip("_"), no.strip("_")
        yield name, name, f"no_{name}"
