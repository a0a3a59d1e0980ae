"""LangChain: an agent middleware, a replacement for `trim_messages`, a chat history, and a document compressor.

```python
from langchain.agents import create_agent
from compressor import Policy
from compressor.integrations.langchain import CompressionMiddleware

agent = create_agent(model, tools, middleware=[CompressionMiddleware(policy=Policy(max_tokens=8000, keep_last=6))])
```
"""

try:
    import langchain.agents.middleware  # noqa: F401
except ImportError as error:
    raise ImportError("LangChain 1.0 or newer is not installed: pip install 'compressor[langchain]'.") from error

from compressor.integrations.langchain.documents import DocumentCompressor
from compressor.integrations.langchain.history import CompressedChatMessageHistory
from compressor.integrations.langchain.middleware import CompressionMiddleware, StateCompressionMiddleware
from compressor.integrations.langchain.trimming import compress_messages

__all__ = [
    "CompressedChatMessageHistory",
    "CompressionMiddleware",
    "DocumentCompressor",
    "StateCompressionMiddleware",
    "compress_messages",
]
