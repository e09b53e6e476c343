"""What `sfumato local collect` says where nothing of what came was accepted: the cause, and what to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.local.collector.intake import many

if TYPE_CHECKING:
    from sfumato.local import Batch, Intake
    from sfumato.local.collector.collection import Collection

_WRITE = "`sfumato local randomize --format reports`"


def is_all_refused(intake: Intake) -> bool:
    """Tell whether reports came and none of them was accepted, now or before."""
    return intake.total > 0 and not (intake.accepted or intake.duplicates or intake.repeated or intake.late)


def cause(collection: Collection, batch: Batch) -> str:
    """Say why nothing of a batch was accepted, by what whoever collects sees anyway: its format and its size."""
    parcel, least = batch.parcel, collection.shuffled
    has_reports = len(parcel.reports) > 0
    if least and parcel.ids is not None:
        return f"A shuffled batch has no ids: write it with {_WRITE}, and collect it with --format reports."
    if least and len(parcel.reports) < least:
        return f"This batch holds {many(len(parcel.reports), 'report')}; --shuffled asks for {least}."
    if least:
        return (
            f"Of the {len(parcel.reports)} reports of this batch fewer than {least} are of this plan, and --shuffled "
            "asks for so many; name the plan with which they were made."
        )
    if has_reports and parcel.ids is None and collection.ids:
        return (
            "These reports have no ids, and this collection tells by ids which ones came twice: write them with "
            "`sfumato local randomize --format binary`, or collect them into a directory of their own with --no-ids."
        )
    if has_reports or parcel.length:
        return "No report is of the plan of this collection; collect them with the plan with which they were made."
    return (
        "Nothing in it is an envelope, which has an id and a report: write it with `sfumato local randomize`, or say "
        f"with --format which format it has; reports without ids are written with {_WRITE}."
    )
