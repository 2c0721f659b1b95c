"""The demonstration: agents as separate processes work one plan to a proof."""
