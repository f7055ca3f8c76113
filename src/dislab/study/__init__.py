"""Studies: many runs defined by one file, resumable at any point.

The folder of a study is its database:

    studies/<name>/
      study.yaml              study file of the last study run here
      plan.json               plan of that study: every run with its complete settings
      plans/<name>.json       plan of each study that shares the folder
      plans/<name>.yaml       study file of each study that shares the folder
      runs/<id>/              an ordinary run folder, with an additional `stages/`
        stages/<stage>/done.json
      claims/                 assignment of runs to workers
"""

from dislab.study.comparison import compare
from dislab.study.status import RunStatus, Status
from dislab.study.study import Study, StudyWarning

__all__ = [
    "RunStatus",
    "Status",
    "Study",
    "StudyWarning",
    "compare",
]
