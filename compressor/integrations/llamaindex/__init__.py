"""LlamaIndex: a chat memory that is read back shortened, and a postprocessor that shortens retrieved nodes.

```python
from compressor.integrations.llamaindex import CompressedMemory, CompressionPostprocessor

memory = CompressedMemory.from_defaults(llm=llm)
answer = await FunctionAgent(tools=tools, llm=llm).run("...", memory=memory)
engine = index.as_query_engine(node_postprocessors=[CompressionPostprocessor(policy={"keep_ratio": 0.6})])
```
"""

try:
    from llama_index.core.base.llms.types import ThinkingBlock, ToolCallBlock  # noqa: F401
except ImportError as error:
    raise ImportError("LlamaIndex 0.14.6 or newer is not installed: pip install 'compressor[llamaindex]'.") from error

from compressor.integrations.llamaindex.memory import CompressedMemory
from compressor.integrations.llamaindex.postprocessor import CompressionPostprocessor

__all__ = ["CompressedMemory", "CompressionPostprocessor"]
