"""Proofs: the chain of entries, the Merkle tree over them, signed checkpoints."""
