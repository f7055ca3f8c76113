"""Studies: many runs from one file, resumable anywhere.

The folder of a study is its database:

    studies/<name>/
      study.yaml              the study file as it was last run
      plan.json               every run with its complete settings, of the study last run
      plans/<name>.json       the same of each study that shares the folder
      plans/<name>.yaml       the study file of each
      runs/<id>/              a run folder like any other, with `stages/` besides
        stages/<stage>/done.json
      claims/                 which worker works on which run
"""

from dislab.study.comparison import compare
from dislab.study.disentanglement_lib import read_disentanglement_lib
from dislab.study.status import RunStatus, Status
from dislab.study.study import Study, StudyWarning

__all__ = [
    "RunStatus",
    "Status",
    "Study",
    "StudyWarning",
    "compare",
    "read_disentanglement_lib",
]
