"""Pure tensor functions: what the objectives, regularisers and scores compute."""
