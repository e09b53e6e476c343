"""Conversations: any number of queries, answered from a model that the data correct when it is wrong."""

from sfumato.moved import moved
from sfumato.questions.conversation.calibration import PayAsYouGo, pay_as_you_go
from sfumato.questions.conversation.guesses import ApproximateChecking, Checked, Guesses, PureChecking
from sfumato.questions.conversation.opening import open_conversation
from sfumato.questions.conversation.plan import ConversationPlan
from sfumato.questions.conversation.planning import plan_conversation
from sfumato.questions.conversation.priors import Prior
from sfumato.questions.conversation.queries import Box, LinearQuery, Weighted, product_query
from sfumato.questions.conversation.reply import Progress, Reply
from sfumato.questions.conversation.session import Conversation
from sfumato.questions.conversation.support import Support, SupportModel, reduce_support

__all__ = [
    "ApproximateChecking",
    "Box",
    "Checked",
    "Conversation",
    "ConversationPlan",
    "Guesses",
    "LinearQuery",
    "PayAsYouGo",
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

__getattr__ = moved(__name__, {"Plan": "sfumato.questions.conversation.ConversationPlan"})
