"""Publications: releases that repeat, period after period, under one promise."""

from sfumato.publish.file import PublicationFile
from sfumato.publish.planned import PublicationPlan
from sfumato.publish.publication import Publication
from sfumato.publish.series import Estimates, Series
from sfumato.publish.states import Period, Verified

__all__ = ["Estimates", "Period", "Publication", "PublicationFile", "PublicationPlan", "Series", "Verified"]
