"""The commands `dislab fairness` and `dislab reasoning`."""

import argparse
from pathlib import Path
from typing import Any, Final

from dislab.cli.arguments import Parser

_FAIRNESS: Final = """\
Measure how much predictions of factors from codes depend on other factors.

Boosted trees learn every target from codes. Then the sensitive factor of images is set to each of
its values in turn, while all other factors stay: unfairness is the mean total variation between
the predictions after such an intervention and all predictions. 0 is best. A table is printed, and
the scores are written to fairness.json in the run folder."""


def fairness(args: list[str]) -> int:
    """Measures the unfairness of predictions from the codes of a run."""
    parser = _parser("fairness", _FAIRNESS)
    parser.add_argument(
        "--targets", nargs="+", default=[], metavar="FACTOR", help="factors to predict; all"
    )
    parser.add_argument(
        "--sensitive", nargs="+", default=[], metavar="FACTOR", help="factors to set; all"
    )
    parser.add_argument(
        "--train", type=int, default=5_000, metavar="N", help="images to learn from (%(default)s)"
    )
    parser.add_argument(
        "--test", type=int, default=500, metavar="N", help="images per value (%(default)s)"
    )
    options = parser.parse_args(args)
    from dislab.storage import text_table
    from dislab_downstream.fairness import unfairness
    from dislab_downstream.observations import of_run
    from dislab_downstream.records import write_record

    _load_parts()
    observations = of_run(options.run)
    settings = _settings(options)
    result = unfairness(observations, **settings)
    worst = max(result.pairs.values())
    scores = {"unfairness": result.mean, "worst_pair": worst, "accuracy": result.accuracy}
    scores |= {f"{target}/{other}": value for (target, other), value in result.pairs.items()}
    write_record(
        Path(options.run) / "fairness.json",
        {"scores": scores, "settings": settings, **observations.origin},
    )
    names = list(dict.fromkeys(other for _, other in result.pairs))
    rows = [["predicted \\ sensitive", *names]]
    for target in dict.fromkeys(target for target, _ in result.pairs):
        cells = (result.pairs.get((target, other)) for other in names)
        rows.append([target, *("" if cell is None else f"{cell:.3f}" for cell in cells)])
    print("\n".join(text_table(rows)))
    print(f"mean unfairness {result.mean:.3f}, mean accuracy {result.accuracy:.3f}")
    return 0


def _parser(name: str, description: str) -> Parser:
    parser = Parser(
        f"dislab {name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", metavar="RUN", help="folder of a finished run")
    parser.add_argument("--seed", type=int, default=0, help="seed of all draws (%(default)s)")
    return parser


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name, value in vars(options).items() if name != "run"}


def _load_parts() -> None:
    from dislab.plugins import PARTS, load_all

    load_all(PARTS)
