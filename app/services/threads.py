"""Runs blocking methods of adapters in a thread."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

_Self = TypeVar("_Self")
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def in_thread(
    method: Callable[Concatenate[_Self, _Given], _Result],
) -> Callable[Concatenate[_Self, _Given], Coroutine[Any, Any, _Result]]:
    """Decorator: make a blocking method a coroutine that runs it in a thread."""

    @wraps(method)
    async def run(self: _Self, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        return await asyncio.to_thread(method, self, *args, **kwargs)

    return run
