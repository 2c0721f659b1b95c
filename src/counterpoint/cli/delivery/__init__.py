"""Commands for what agents hand over: phases, runs, documents, and the trees they work in."""
