"""Images stored as rows of bytes in the cache folder, together with their labels."""
