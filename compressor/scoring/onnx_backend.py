"""Runs model.onnx with onnxruntime."""

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from compressor.errors import ModelError
from compressor.scoring.encoding import IntArray


class OnnxBackend:
    """One session for all threads.

    Each forward pass stays on the thread that asks for it: passes run side by side, and no result depends on how many
    do. The graph was optimised when it was exported, so that loading it does not spend time on that.

    Args:
        path: The model.onnx.
    Raises:
        ModelError: The file is no model that onnxruntime can run.
    """

    name = "onnx"
    concurrent = True

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.enable_mem_pattern = False  # lengths differ from pass to pass
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own exceptions have no common base
            raise ModelError(
                f"{path}: onnxruntime cannot load it ({error}); copy or export the model again."
            ) from error

    def __call__(self, input_ids: IntArray, attention_mask: IntArray, role_ids: IntArray) -> NDArray[np.float32]:
        """One forward pass. All inputs (batch, length), int64 → logits (batch, length, n_heads), float32."""
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, "role_ids": role_ids}
        logits: NDArray[np.float32] = self._session.run(["logits"], inputs)[0]
        return logits
