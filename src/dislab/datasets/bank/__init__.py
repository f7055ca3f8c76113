"""Images kept as rows of bytes in the cache folder, with the labels read beside them."""
