"""Pages of runs: one HTML file that opens from disk and makes no request."""

from dislab.report.page import EXPLORER, PAGE, Failure, ReportedRun, page_of, write_page

__all__ = ["EXPLORER", "PAGE", "Failure", "ReportedRun", "page_of", "write_page"]
