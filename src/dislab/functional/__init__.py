"""Pure tensor functions of objectives and regularisers."""
