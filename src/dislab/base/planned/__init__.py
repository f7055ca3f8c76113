"""Data modules out of index plans: splits, loaders, the place of the images, and resuming."""
