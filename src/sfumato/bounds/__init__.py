"""Lower bounds and floors: what no private mechanism can do, as arithmetic for planners.

A floor never promises that something is possible; it says below which numbers nothing is.
"""

from sfumato.bounds.floors import Floor
from sfumato.bounds.histograms import (
    histogram_people,
    histogram_people_per_attribute,
    histogram_people_pure,
)
from sfumato.bounds.information import people_for_information
from sfumato.bounds.learning import (
    LEARNING_WARNINGS,
    median_people_pure,
    proper_learner_people_pure,
    sanitizer_people_by_dimension,
    sanitizer_people_pure,
)
from sfumato.bounds.local import leaving_chance, local_count_floor, local_tail_floor
from sfumato.bounds.queries import (
    WARNINGS,
    histogram_error,
    packing_error,
    random_queries_error,
    sampling_error,
)
from sfumato.bounds.selection import selection_gap, selection_gaps, threshold_people
from sfumato.bounds.subsampling import subsampled_order, subsampled_rho
from sfumato.bounds.volume import VolumeFloor, volume_floor, volume_radius

__all__ = [
    "LEARNING_WARNINGS",
    "WARNINGS",
    "Floor",
    "VolumeFloor",
    "histogram_error",
    "histogram_people",
    "histogram_people_per_attribute",
    "histogram_people_pure",
    "leaving_chance",
    "local_count_floor",
    "local_tail_floor",
    "median_people_pure",
    "packing_error",
    "people_for_information",
    "proper_learner_people_pure",
    "random_queries_error",
    "sampling_error",
    "sanitizer_people_by_dimension",
    "sanitizer_people_pure",
    "selection_gap",
    "selection_gaps",
    "subsampled_order",
    "subsampled_rho",
    "threshold_people",
    "volume_floor",
    "volume_radius",
]
