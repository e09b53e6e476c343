"""Distributions over a table's columns that were learned under a promise: marginals, rows, files."""

from sfumato.model.base import Model, model_from_json
from sfumato.model.factored import Component, Factored
from sfumato.model.joined import Joined
from sfumato.model.mixture import Mixture
from sfumato.model.refined import ColumnBins, Refined

__all__ = ["ColumnBins", "Component", "Factored", "Joined", "Mixture", "Model", "Refined", "model_from_json"]
