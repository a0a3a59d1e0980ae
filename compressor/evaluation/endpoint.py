"""A chat model behind an OpenAI-compatible endpoint."""

import json
import os
from dataclasses import dataclass
from typing import Any

from compressor.evaluation.errors import EndpointError

KEY_VARIABLE = "OPENAI_API_KEY"
RETRIES = 4
RETRY_STATUS = (408, 409, 429, 500, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask which model.

    Args:
        url: Up to and including the version (`http://localhost:8000/v1`), or the whole address of chat completions.
        model: The name that the endpoint knows.
        timeout: Seconds until one answer counts as missing.
        retries: Further tries after a failed connection or a busy server, waiting longer each time.
    """

    url: str
    model: str
    timeout: float = 120.0
    retries: int = RETRIES

    def ask(self, prompt: str, max_tokens: int, system: str = "") -> str:
        """The model's answer to one prompt, at temperature 0.

        The key is read from the environment variable OPENAI_API_KEY, if that is set.

        Raises:
            EndpointError: No answer came, or none that is a chat completion.
        """
        try:
            import urllib3
        except ImportError as error:
            raise EndpointError("the package urllib3 is not installed: pip install 'compressor[evaluate]'.") from error
        address = self.url if self.url.endswith("/chat/completions") else self.url.rstrip("/") + "/chat/completions"
        key = os.environ.get(KEY_VARIABLE)
        messages = [{"role": "system", "content": system}] if system else []
        body = {"model": self.model, "temperature": 0, "max_tokens": max_tokens}
        try:
            response = urllib3.request(
                "POST",
                address,
                json={**body, "messages": [*messages, {"role": "user", "content": prompt}]},
                headers={"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {}),
                timeout=self.timeout,
                retries=urllib3.Retry(
                    self.retries,
                    connect=min(2, self.retries),
                    backoff_factor=0.5,
                    status_forcelist=RETRY_STATUS,
                    allowed_methods=None,
                    raise_on_status=False,
                ),
            )
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise EndpointError(
                f"{address}: no answer ({reason}). Check the address, and that the server runs; nothing was graded."
            ) from error
        if response.status != 200:
            raise EndpointError(
                f"{address}: status {response.status}: {response.data[:300].decode('utf-8', 'replace')}"
            )
        return _content(address, response.data)


def _content(address: str, data: bytes) -> str:
    try:
        answer: Any = json.loads(data)
        content = answer["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError) as error:
        excerpt = data[:200].decode("utf-8", "replace")
        raise EndpointError(f"{address}: the answer is no chat completion: {excerpt!r}") from error
    return content if isinstance(content, str) else ""
