"""The commands `dislab fairness` and `dislab reasoning`."""

import argparse
from pathlib import Path
from typing import Any, Final

from dislab.cli.arguments import Existing, Parser

_FAIRNESS: Final = """\
Measure how much predictions of factors from codes depend on other factors.

Boosted trees learn every target from codes. Then the sensitive factor of images is set to each of
its values in turn, while all other factors stay: unfairness is the mean total variation between
the predictions after such an intervention and all predictions. 0 is best. A table is printed, and
the scores are written to fairness.json in the run folder."""

_REASONING: Final = """\
Measure abstract reasoning: the choice of the missing image of a 3×3 matrix from six answers.

In each row of a matrix one to three factors are constant. For each number of training matrices a
relation network learns to choose, from frozen codes, from pixels, or from true factors. A random
choice has an accuracy of 1/6. The accuracies on new matrices are printed, and written to
reasoning.json in the run folder."""


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


def reasoning(args: list[str]) -> int:
    """Measures abstract reasoning on the codes of a run."""
    parser = _parser("reasoning", _REASONING)
    parser.add_argument(
        "--sources",
        nargs="+",
        default=["codes"],
        choices=("codes", "pixels", "factors"),
        help="inputs of the relation network (codes)",
    )
    parser.add_argument(
        "--samples",
        nargs="+",
        type=int,
        default=[100, 1_000, 10_000],
        metavar="N",
        help="numbers of training matrices (100 1000 10000)",
    )
    parser.add_argument(
        "--factors", nargs="+", default=[], metavar="FACTOR", help="factors that take part; all"
    )
    counts = {
        "test": (2_000, "matrices to test on"),
        "steps": (600, "training steps of 32 matrices"),
        "values": (4, "most values of a factor"),
    }
    for name, (default, text) in counts.items():
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{text} (%(default)s)"
        )
    parser.add_argument(
        "--answers", choices=("easy", "hard"), default="easy", help="wrong answers (%(default)s)"
    )
    options = parser.parse_args(args)
    from dislab.storage import text_table
    from dislab_downstream.observations import of_run
    from dislab_downstream.reasoning import reasoning as accuracies
    from dislab_downstream.records import write_record

    _load_parts()
    observations = of_run(options.run)
    settings = _settings(options)
    others = {name: value for name, value in settings.items() if name != "sources"}
    found = {
        source: accuracies(observations, source=source, **others) for source in options.sources
    }
    scores = {
        f"{source}/{count}": value
        for source, by_count in found.items()
        for count, value in by_count.items()
    }
    write_record(
        Path(options.run) / "reasoning.json",
        {"scores": scores, "settings": settings, **observations.origin},
    )
    rows = [["matrices", *map(str, sorted(set(options.samples)))]]
    rows += [
        [source, *(f"{value:.3f}" for value in by_count.values())]
        for source, by_count in found.items()
    ]
    print("\n".join(text_table(rows)))
    return 0


def _parser(name: str, description: str) -> Parser:
    parser = Parser(
        f"dislab {name}",
        description=description,
        example=f"dislab {name} runs/factorvae/version_0",
    )
    parser.add_argument("run", metavar="RUN", action=Existing, help="folder of a finished run")
    parser.add_argument("--seed", type=int, default=0, help="seed of all draws (%(default)s)")
    return parser


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name, value in vars(options).items() if name != "run"}


def _load_parts() -> None:
    from dislab.plugins import PARTS, load_all

    load_all(PARTS)
