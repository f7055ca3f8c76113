"""Out-of-distribution transfer: scenarios, and the scores of predictors in them."""
