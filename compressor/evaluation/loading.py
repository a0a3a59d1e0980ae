"""Finds a function that a user names as `module:callable`."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from compressor.evaluation.errors import EvaluationError


def load_callable(spec: str) -> Callable[..., Any]:
    """The callable of `module:name`; modules are also sought in the working directory.

    Raises:
        EvaluationError: The module cannot be imported, or has no such callable.
    """
    module_name, _, name = spec.partition(":")
    if not module_name or not name:
        raise EvaluationError(
            f"{spec!r} names no function; allowed: module:callable, as in mypackage.shorten:compress."
        )
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # a user's module may fail in any way
        raise EvaluationError(f"{spec!r} cannot be loaded ({type(error).__name__}: {error}).") from error
    if not callable(found):
        raise EvaluationError(f"{spec!r} is {type(found).__name__}, which cannot be called.")
    function: Callable[..., Any] = found
    return function
