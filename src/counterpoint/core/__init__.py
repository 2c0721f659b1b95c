"""The domain: nouns, judgments, verbs and proofs, without any input or output."""
