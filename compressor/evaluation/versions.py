"""What a result was made with: versions of the package, the policy, the words and the model."""

import hashlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from compressor.policy import POLICY_VERSION
from compressor.scoring.weights import model_folder, read_config
from compressor.words import SEGMENTATION


def versions(model: str | None) -> dict[str, Any]:
    """Versions, and of a model with weights also the size and the fingerprint of its file."""
    try:
        package = version("compressor")
    except PackageNotFoundError:
        package = "not installed"
    found: dict[str, Any] = {"compressor": package, "policy": POLICY_VERSION, "segmentation": SEGMENTATION}
    if model is None:
        return found
    found["model"] = {"name": model}
    if model != "heuristic":
        folder = model_folder(model)
        weights = folder / "model.onnx"
        found["model"]["version"] = read_config(folder).version
        if weights.is_file():
            found["model"]["bytes"] = weights.stat().st_size
            found["model"]["sha256"] = hashlib.sha256(weights.read_bytes()).hexdigest()[:16]
    return found
