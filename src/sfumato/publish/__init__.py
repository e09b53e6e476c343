"""Publications: releases that repeat, period after period, under one promise."""

from sfumato.publish.file import PublicationFile
from sfumato.publish.planned import PublicationPlan
from sfumato.publish.publication import Period, Publication, Verified
from sfumato.publish.series import Estimates, Series

__all__ = ["Estimates", "Period", "Publication", "PublicationFile", "PublicationPlan", "Series", "Verified"]
