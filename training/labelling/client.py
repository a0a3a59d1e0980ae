"""A teacher behind an OpenAI-compatible endpoint: one request, its retries, its answer."""

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import urllib3

from compressor.evaluation.endpoint import KEY_VARIABLE, RETRY_STATUS
from training.labelling.errors import AnswerError, BusyError, TeacherError
from training.labelling.prompt import Messages

WAIT, LONGEST_WAIT = 1.0, 120
"""Seconds of the first wait, up to as many by chance more; and of the longest, whatever the server asks for."""
_HOPELESS = {
    401: "the key is missing or wrong",
    402: "the account has no credit",
    403: "the key may not use this model",
    404: "no such address or model",
}

logger = logging.getLogger(__name__)


class _Patience(urllib3.Retry):
    """Waits as long as the server asks for, up to a limit."""

    def get_retry_after(self, response: urllib3.BaseHTTPResponse) -> float | None:
        asked = super().get_retry_after(response)
        return None if asked is None else min(asked, LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer as it came.

    Args:
        text: What the model wrote; may be empty.
        finish: Why it stopped: `stop`, `length` (cut off), ...
        prompt_tokens, completion_tokens: As the endpoint counts them; 0 if it does not say.
    """

    text: str
    finish: str
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Client:
    """Where to ask which model. May be used from several threads.

    Args:
        url: Up to and including the version (`http://localhost:8000/v1`), or the whole address of chat completions.
        model: The name that the endpoint knows.
        key_variable: Environment variable that holds the key; the key itself is never stored, logged or shown.
        timeout: Seconds until one answer counts as missing.
        retries: Further tries after a failed connection or a busy server, waiting twice as long each time, or as long as
            the server asks for.
        body: Further fields of the request; None leaves a field out.
    """

    url: str
    model: str
    key_variable: str = KEY_VARIABLE
    timeout: float = 120.0
    retries: int = 5
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The whole address."""
        whole = self.url.endswith("/chat/completions")
        return self.url if whole else self.url.rstrip("/") + "/chat/completions"

    def options(self, max_tokens: int) -> dict[str, Any]:
        """The fields of a request besides its messages."""
        fields = {"model": self.model, "temperature": 0, "max_tokens": max_tokens, **self.body}
        return {name: value for name, value in fields.items() if value is not None}

    def complete(self, messages: Messages, max_tokens: int) -> Completion:
        """Ask once, with retries.

        Raises:
            TeacherError: The teacher refuses every request of this kind.
            BusyError: No answer came.
            AnswerError: The request was refused, or the answer is no chat completion.
        """
        key = os.environ.get(self.key_variable)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        try:
            response = self._pool.request(
                "POST",
                self.address,
                body=json.dumps({**self.options(max_tokens), "messages": messages}).encode(),
                headers=headers,
                timeout=self.timeout,
                retries=_Patience(
                    self.retries,
                    backoff_factor=WAIT,
                    backoff_max=LONGEST_WAIT,
                    backoff_jitter=WAIT,
                    status_forcelist=RETRY_STATUS,
                    allowed_methods=None,
                    raise_on_status=False,
                    redirect=False,
                ),
            )
        except urllib3.exceptions.LocationValueError as error:
            raise TeacherError(f"the endpoint {self.url!r} is no address; allowed: http://HOST/v1 or https.") from error
        except urllib3.exceptions.HTTPError as error:
            raise BusyError(f"{self.address}: no answer ({getattr(error, 'reason', None) or error}).") from error
        excerpt = " ".join(response.data[:300].decode("utf-8", "replace").split())
        if key:
            excerpt = excerpt.replace(key, "…")
        if response.status in _HOPELESS:
            reason = _HOPELESS[response.status]
            raise TeacherError(
                f"{self.address}: status {response.status}, {reason}: {excerpt}. The key is read from the environment "
                f"variable {self.key_variable}."
            )
        if response.status in RETRY_STATUS:
            raise BusyError(f"{self.address}: status {response.status} after {self.retries} retries: {excerpt}")
        if response.status != 200:
            raise AnswerError(f"the request was refused with status {response.status}: {excerpt}")
        return _completion(response.data, excerpt)

    @cached_property
    def _pool(self) -> urllib3.PoolManager:
        return urllib3.PoolManager(maxsize=64)


def _completion(data: bytes, excerpt: str) -> Completion:
    try:
        answer: Any = json.loads(data)
        choice = answer["choices"][0]
        text, finish = choice["message"].get("content"), choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise AnswerError(f"the answer is no chat completion: {excerpt!r}") from error
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    prompt, completion = (
        counts[name] if isinstance(counts.get(name), int) else 0 for name in ("prompt_tokens", "completion_tokens")
    )
    return Completion(text if isinstance(text, str) else "", str(finish or "stop"), prompt, completion)
