"""A postprocessor that shortens retrieved nodes."""

from typing import Any

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, ImageNode, Node, NodeWithScore, QueryBundle, TextNode

from compressor.integrations.documents import shorten
from compressor.integrations.fields import PolicyField
from compressor.integrations.options import compressor_of
from compressor.pipeline import Compressor


class CompressionPostprocessor(BaseNodePostprocessor):
    """Deletes the low-signal words of retrieved text nodes; scores, ids, metadata and relationships stay.

    The nodes of a query share the budget. The query decides nothing: a word's score depends on its node alone, so that a
    node under a preset is the same for every query. Nodes without text, or with images, are not touched.

    ```python
    engine = index.as_query_engine(node_postprocessors=[CompressionPostprocessor(policy=Policy(keep_ratio=0.6))])
    ```

    Args:
        policy: How much to keep and what to protect: a `Policy`, or its options as a dict. `emptied`: by default a
            node keeps a word; `drop` leaves it out.
        model: A shipped model, a model folder, or `heuristic`.
        compressor: A compressor to use instead of `model`.
        token_counter: How budgets count; see `Compressor`.
    Raises:
        ValueError: An option is not allowed.
        ModelError: The model cannot be used.
    """

    policy: PolicyField = None
    model: str = "default"
    compressor: Any = Field(default=None, exclude=True)
    token_counter: Any = Field(default=None, exclude=True)
    _compressor: Compressor = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Load the model, so that a mistake shows at once."""
        super().model_post_init(context)
        self._compressor = compressor_of(self.compressor, self.model, self.policy, self.token_counter)

    @classmethod
    def class_name(cls) -> str:
        """Get class name."""
        return "CompressionPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        chosen = [place for place, node in enumerate(nodes) if _text(node.node)]
        texts = shorten([_text(nodes[place].node) for place in chosen], self._compressor)
        new: dict[int, str | None] = dict(zip(chosen, texts, strict=True))
        return [
            node if place not in new else _with_text(node, text)
            for place, node in enumerate(nodes)
            if (text := new.get(place, "")) is not None
        ]


def _text(node: BaseNode) -> str:
    """The text of a text node; empty for nodes of any other kind."""
    if isinstance(node, TextNode) and not isinstance(node, ImageNode):
        return node.text
    if (
        isinstance(node, Node)
        and node.text_resource
        and not (node.image_resource or node.audio_resource or node.video_resource)
    ):
        return node.text_resource.text or ""
    return ""


def _with_text(scored: NodeWithScore, text: str) -> NodeWithScore:
    node = scored.node
    if _text(node) == text:
        return scored
    if isinstance(node, TextNode):
        shorter: BaseNode = node.model_copy(update={"text": text})
    else:
        resource = getattr(node, "text_resource")  # noqa: B009 – _text saw that it is there
        shorter = node.model_copy(update={"text_resource": resource.model_copy(update={"text": text})})
    return scored.model_copy(update={"node": shorter})
