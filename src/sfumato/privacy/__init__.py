"""Bounds that people write, losses that mechanisms cost, and the arithmetic between them."""

from sfumato.privacy.attributes import EVERYTHING, Attributes, Everything, Secrets, attributes, touches
from sfumato.privacy.bounds import (
    Approximate,
    Bound,
    Concentrated,
    Pure,
    Truncated,
    bound_from_json,
    require_bound,
)
from sfumato.privacy.combined import Minimum, Sum
from sfumato.privacy.cost import Cost
from sfumato.privacy.curve import Curve, curve_from_json
from sfumato.privacy.derived import greatest, least, total
from sfumato.privacy.forms import LinearCurve, OrderCurve, PureCurve, SinhNormalCurve
from sfumato.privacy.loss import Loss
from sfumato.privacy.parallel import parallel, worst_of
from sfumato.privacy.per_attribute import PerAttribute
from sfumato.privacy.profile import ByCount, Cover, Flat, Profile, Tree, Weighted
from sfumato.privacy.relations import ADD_REMOVE, REPLACE_ONE, Relation
from sfumato.privacy.sampled import Sampled, subsample_loss
from sfumato.privacy.stated import Stated
from sfumato.privacy.subsample import Amplified, Subsampled, subsample
from sfumato.privacy.union import union

__all__ = [
    "ADD_REMOVE",
    "EVERYTHING",
    "REPLACE_ONE",
    "Amplified",
    "Approximate",
    "Attributes",
    "Bound",
    "ByCount",
    "Concentrated",
    "Cost",
    "Cover",
    "Curve",
    "Everything",
    "Flat",
    "LinearCurve",
    "Loss",
    "Minimum",
    "OrderCurve",
    "PerAttribute",
    "Profile",
    "Pure",
    "PureCurve",
    "Relation",
    "Sampled",
    "Secrets",
    "SinhNormalCurve",
    "Stated",
    "Subsampled",
    "Sum",
    "Tree",
    "Truncated",
    "Weighted",
    "attributes",
    "bound_from_json",
    "curve_from_json",
    "greatest",
    "least",
    "parallel",
    "require_bound",
    "subsample",
    "subsample_loss",
    "total",
    "touches",
    "union",
    "worst_of",
]
