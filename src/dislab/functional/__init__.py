"""Pure tensor functions: what objectives and regularisers compute."""
