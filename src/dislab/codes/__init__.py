"""Codes and the factors behind them: banks, checks and the mathematics of scores."""
