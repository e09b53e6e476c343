"""The one way of a question: what it is, what runs for it, how a draw is packed, stored and finished."""
