"""Where model weights come from: a fixed catalogue, checked by hash, kept in a folder of the user."""

from gpu_workers.models.catalogue import MODELS, Model
from gpu_workers.models.fetch import ModelFiles, Say, fetch

__all__ = ["MODELS", "Model", "ModelFiles", "Say", "fetch"]
