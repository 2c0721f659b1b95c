"""Gates of phases: reviewed, judged, waived, and proved from the ledger."""
