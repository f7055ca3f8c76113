"""Pages of runs: one HTML file that opens from disk and makes no request."""

from dislab.report.page import PAGE, ReportedRun, page_of, write_page

__all__ = ["PAGE", "ReportedRun", "page_of", "write_page"]
