"""Runs model.safetensors with torch, on the processor or a graphics card. Torch is imported when a model is loaded."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compressor.errors import ModelError
from compressor.scoring.encoding import IntArray
from compressor.scoring.weights import ModelConfig


class TorchBackend:
    """The same network in float32.

    Args:
        path: The model.safetensors.
        config: Of the same folder; says the sizes of the network.
        device: `cpu`, `cuda`, or another of torch's names.
    Raises:
        ModelError: Torch is not installed, the device is not there, or the weights do not fit the config.
    """

    name = "torch"
    concurrent = False  # torch spreads one pass over all processors by itself

    def __init__(self, path: Path, config: ModelConfig, device: str = "cpu") -> None:
        try:
            import torch

            from compressor.scoring.torch_model import Shape, TurnClassifier, read_weights
        except ImportError as error:
            raise ModelError(
                f"the torch backend needs {error.name}; install it: pip install 'compressor[torch]'."
            ) from error
        self._torch: Any = torch
        try:
            self._device = torch.device(device)
            model = TurnClassifier(Shape(**_sizes(config)))
            model.load_state_dict(read_weights(path))
            self._model = model.eval().to(self._device)
        except (RuntimeError, TypeError, ValueError, OSError) as error:
            raise ModelError(f"{path}: torch cannot load it on {device} ({error}).") from error

    def __call__(self, input_ids: IntArray, attention_mask: IntArray, role_ids: IntArray) -> NDArray[np.float32]:
        """One forward pass. All inputs (batch, length), int64 → logits (batch, length, n_heads), float32."""
        with self._torch.inference_mode():
            inputs = (self._torch.from_numpy(array).to(self._device) for array in (input_ids, attention_mask, role_ids))
            logits: NDArray[np.float32] = self._model(*inputs).float().cpu().numpy()
        return logits


def _sizes(config: ModelConfig) -> dict[str, Any]:
    return {name: value if name == "dropout" else int(value) for name, value in config.shape.items()}
