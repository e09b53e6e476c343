"""Conversations: any number of queries, answered from a model that the data correct when it is wrong."""

from sfumato.release.conversation.calibration import PayAsYouGo, pay_as_you_go
from sfumato.release.conversation.guesses import ApproximateChecking, Checked, Guesses, PureChecking
from sfumato.release.conversation.opening import open_conversation
from sfumato.release.conversation.plan import Plan
from sfumato.release.conversation.planning import plan_conversation
from sfumato.release.conversation.priors import Prior
from sfumato.release.conversation.queries import Box, LinearQuery, Weighted, product_query
from sfumato.release.conversation.reply import Progress, Reply
from sfumato.release.conversation.session import Conversation
from sfumato.release.conversation.support import Support, SupportModel, reduce_support

__all__ = [
    "ApproximateChecking",
    "Box",
    "Checked",
    "Conversation",
    "Guesses",
    "LinearQuery",
    "PayAsYouGo",
    "Plan",
    "Prior",
    "Progress",
    "PureChecking",
    "Reply",
    "Support",
    "SupportModel",
    "Weighted",
    "open_conversation",
    "pay_as_you_go",
    "plan_conversation",
    "product_query",
    "reduce_support",
]
