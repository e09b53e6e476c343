"""Release by learning: a synopsis from a learner of labels, an oracle or a tree of set functions."""
