"""A document compressor for retrievers."""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field, PrivateAttr

from compressor.integrations.documents import shorten
from compressor.integrations.fields import PolicyField
from compressor.integrations.options import compressor_of
from compressor.pipeline import Compressor


class DocumentCompressor(BaseDocumentCompressor):
    """Deletes the low-signal words of retrieved documents; metadata and ids stay.

    The documents of a query share the budget. The query decides nothing: a word's score depends on its document alone,
    so that a document under a preset is the same for every query and can be cached by the provider.

    ```python
    compressor = DocumentCompressor(policy=Policy(keep_ratio=0.6))
    retriever = ContextualCompressionRetriever(base_compressor=compressor, base_retriever=store.as_retriever())
    ```

    Args:
        policy: How much to keep and what to protect: a `Policy`, or its options as a dict. `emptied`: by default a
            document keeps a word; `drop` leaves it out.
        model: A shipped model, a model folder, or `heuristic`.
        compressor: A compressor to use instead of `model`.
        token_counter: How budgets count; see `Compressor`.
    Raises:
        ValueError: An option is not allowed.
        ModelError: The model cannot be used.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    policy: PolicyField = None
    model: str = "default"
    compressor: Any = Field(default=None, exclude=True)
    token_counter: Any = Field(default=None, exclude=True)
    _compressor: Compressor = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Load the model, so that a mistake shows at once."""
        self._compressor = compressor_of(self.compressor, self.model, self.policy, self.token_counter)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Shorten documents.

        Args:
            documents: In the order of retrieval.
            query, callbacks: Not used.
        Returns:
            A copy of each document that changed, the others as they are.
        """
        texts = shorten([document.page_content for document in documents], self._compressor)
        return [
            document if text == document.page_content else document.model_copy(update={"page_content": text})
            for document, text in zip(documents, texts, strict=True)
            if text is not None
        ]
