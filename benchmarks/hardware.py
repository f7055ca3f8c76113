"""The processor that a benchmark ran on."""

from dislab.runs.records import processor as processor
