"""Dataclasses -> options: a command takes dataclasses, and on the command line each of their fields is an option."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, TypeVar, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, ParameterInfo

__all__ = ["COMMAND_NAME", "Only", "Waived", "with_options"]

T = TypeVar("T")

COMMAND_NAME = "the name of the command"
"""Annotates a field that is no option and is given the name of the command."""


class Only:
    """Annotates an option that some commands have; elsewhere the field keeps its default."""

    def __init__(self, *commands: str, is_required: bool = False) -> None:
        self.commands = commands
        self.is_required = is_required


class Waived:
    """Annotates what must be given but to some commands; there, if it is not, the field is an empty text."""

    def __init__(self, *commands: str) -> None:
        self.commands = commands


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """The command for typer: its dataclasses taken apart into options, and put together when it is called."""
    command, hints = function.__name__, get_type_hints(function, include_extras=True)
    own = inspect.signature(function).parameters.values()
    groups = {each.name: hints[each.name] for each in own if dataclasses.is_dataclass(hints[each.name])}

    def called(**given: object) -> None:
        rest = {each.name: given[each.name] for each in own if each.name not in groups}
        function(**rest, **{name: _filled(group, command, given) for name, group in groups.items()})

    parameters: list[inspect.Parameter] = []
    for each in own:
        if each.name in groups:
            parameters += _parameters(groups[each.name], command)
        else:
            annotation = hints[each.name]
            parameters.append(each.replace(annotation=annotation, kind=inspect.Parameter.KEYWORD_ONLY))
    # what is lacking is told in this order, and people look for a table before its target
    parameters.sort(key=lambda each: not isinstance(_info(each.annotation), ArgumentInfo))
    called.__name__, called.__doc__ = command, function.__doc__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


def _fields(group: type) -> Iterator[tuple[dataclasses.Field[object], object]]:
    """Fields of a dataclass, each with its annotation, in the order in which they are shown."""
    hints = get_type_hints(group, include_extras=True)  # those in the source are strings
    return ((field, hints[field.name]) for field in dataclasses.fields(group))


def _info(hint: object) -> ParameterInfo | None:
    """What typer is told of an option or argument; None if it is neither."""
    return next((each for each in get_args(hint)[1:] if isinstance(each, ParameterInfo)), None)


def _only(hint: object) -> Only | None:
    return next((each for each in get_args(hint)[1:] if isinstance(each, Only)), None)


def _is_waived(hint: object, command: str) -> bool:
    return any(command in each.commands for each in get_args(hint)[1:] if isinstance(each, Waived))


def _parameters(group: type, command: str) -> Iterator[inspect.Parameter]:
    """Parameters of a command, one for each option of a dataclass and of those inside it."""
    for field, hint in _fields(group):
        info, only = _info(hint), _only(hint)
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            yield from _parameters(hint, command)
        elif info is not None and (only is None or command in only.commands):
            is_waived = _is_waived(hint, command)
            is_lacking = field.default is dataclasses.MISSING and not is_waived
            is_required = is_lacking or (only is not None and only.is_required)
            yield inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if is_required else "" if is_waived else _default(field.default),
                annotation=Annotated[_type(hint, info), info],
            )


def _type(hint: object, info: ParameterInfo) -> object:
    """The type that typer is to read: any text if a parser follows, and a list where several are given."""
    kind = get_args(hint)[0]
    if info.parser is not None:
        return str
    return list[get_args(kind)[0]] if get_origin(kind) is tuple else kind  # type: ignore[misc]


def _default(value: object) -> object:
    """The default for typer, which knows no empty tuple: nothing."""
    return None if value == () else value


def _filled(group: type[T], command: str, given: Mapping[str, object]) -> T:
    """The dataclass with what was given; the rest keeps its default."""
    values: dict[str, object] = {}
    for field, hint in _fields(group):
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            values[field.name] = _filled(hint, command, given)
        elif COMMAND_NAME in get_args(hint):
            values[field.name] = command
        elif (value := given.get(field.name)) is not None:
            values[field.name] = tuple(value) if isinstance(value, list) else value
    return group(**values)
