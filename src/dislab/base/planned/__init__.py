"""Data modules made from index plans: splits, loaders, image residency, and resuming."""
