import dataclasses
import sys
import warnings
from pathlib import Path

import pytest
from tests.cli.test_main import installed

from dislab import cli
from dislab.base import Dataset
from dislab.cli import COMMANDS, messages
from dislab.cli.messages import explain, warnings_in_one_line
from dislab.factors import ContinuousFactorWarning
from dislab.plugins import available

REGULARIZERS = ", ".join(plugin.name for plugin in available("regularizers"))

UNION = """Parser key "pictures":
  Does not validate against any of the Union subtypes
  Subtypes: [<class 'bool'>, typing.Literal['end']]
  Errors:
    - Expected a <class 'bool'>
    - Expected a typing.Literal['end']
  Given value type: <class 'str'>
  Given value: never"""

LITERALS = """Parser key "trainer.precision":
  Does not validate against any of the Union subtypes
  Subtypes: [typing.Literal[64, 32], typing.Literal['64', '32', 'bf16-mixed'], <class 'NoneType'>]
  Errors:
    - Expected a typing.Literal[64, 32]
    - Expected a typing.Literal['64', '32', 'bf16-mixed']
    - Expected a <class 'NoneType'>
  Given value type: <class 'str'>
  Given value: bf16-mix"""

NESTED = """Parser key "model":
  Does not validate against any of the Union subtypes
  Subtypes: [<class 'dislab.base.objective.Objective'>, <class 'NoneType'>]
  Errors:
    - Problem with given class_path 'dislab.objectives.VAE':
        Parser key "regularizers":
          {reason}
    - Expected a <class 'NoneType'>
  Given value type: <class 'dict'>
  Given value: {{'class_path': 'VAE', 'init_args': {{'regularizers': \
{{'kl': {{'class_path': 'KLL'}}, \
'tc': {{'class_path': 'TotalCorrelation', 'init_args': {{'gama': 35}}}}}}}}}}"""

NESTED_NEED = """Parser key "model":
  Errors:
    - Problem with given class_path 'dislab.objectives.VAE':
        Parser key "regularizers":
          Type Callable[[int, int], Regularizer] expects a function or a callable class: the \
following arguments are required: weight. Got value: Namespace(class_path='mine.Mine', \
init_args=Namespace(weight=None))
    - Expected a <class 'NoneType'>
  Given value: Namespace(class_path='dislab.objectives.VAE', init_args=Namespace(regularizers={\
'other': Namespace(class_path='mine.Mine', init_args=Namespace(weight=1.0)), \
'mine': Namespace(class_path='mine.Mine', init_args=Namespace(weight=None))}))"""

NESTED_VALUE = """Parser key "data":
  Does not validate against any of the Union subtypes
  Subtypes: [<class 'dislab.base.datamodule.DataModule'>, <class 'NoneType'>]
  Errors:
    - Problem with given class_path 'dislab.datamodules.SingleData':
        Parser key "{key}":
          Does not validate against any of the Union subtypes
          Errors:
            - Expected a <class '{kind}'>
            - Expected a <class 'NoneType'>
    - Expected a <class 'NoneType'>
  Given value type: <class 'jsonargparse._util.NestedArg'>
  Given value: NestedArg(key='{key}', val={value})"""

NO_CLASS = """Parser key "data":
  Does not validate against any of the Union subtypes
  Subtypes: [<class 'dislab.base.datamodule.DataModule'>, <class 'NoneType'>]
  Errors:
    - Not a valid subclass of DataModule
      Subclass types expect one of:
      - a class path (str)
      - a dict with class_path entry
    - Expected a <class 'NoneType'>
  Given value type: <class 'dict'>
  Given value: {given}"""

ABSTRACT = """Parser key "{key}":
  Does not validate against any of the Union subtypes
  Subtypes: [<class 'some.{base}'>, <class 'NoneType'>]
  Errors:
    - Expected an instantiatable class, but {base} is abstract
    - Expected a <class 'NoneType'>
  Given value type: <class 'jsonargparse._util.NestedArg'>
  Given value: {given}"""

INNER_UNION = """Does not validate against any of the Union subtypes
            Subtypes: [<class 'float'>, <class 'torch.Tensor'>]
            Errors:
              - Expected a <class 'float'>
              - {other}
            Given value type: <class 'str'>
            Given value: abc. Got value: Namespace(class_path='x.Y', init_args=Namespace(lr='abc'))
          Given value type: <class 'jsonargparse._util.NestedArg'>
          Given value: NestedArg(key='lr', val='abc')"""

START = "no class is named; begin with the configuration of a method and put others behind it"


@pytest.mark.parametrize(
    ("message", "explanation"),
    [
        (
            NESTED.format(reason="Expected a dot import path string: KLL"),
            "model.regularizers.kl: no part is named KLL (did you mean KL?); "
            "available regularizers: " + REGULARIZERS,
        ),
        (
            NESTED.format(
                reason="Type X expects a callable class: Option 'gama' is not accepted. Got value: "
                "Namespace(class_path='dislab.regularizers.TotalCorrelation', init_args=1)"
            ),
            "model.regularizers.tc: TotalCorrelation has no setting 'gama' (did you mean gamma?); "
            "it has gamma, width, depth, lr, betas, batches",
        ),
        (
            NESTED.format(
                reason="Type X expects a callable class: Option 'weight' is not accepted. Got "
                "value: Namespace(class_path='tests.conformance.test_faults.Settings', init_args=1)"
            ),
            "model.regularizers: Settings.__init__ takes latent_dim, weight; it must take "
            "latent_dim and train_size before settings of its own, as CapacityKL does",
        ),
        (
            NESTED.format(
                reason="Type X expects a callable class: Option 'latent_dim' is not accepted. Got "
                "value: Namespace(class_path='dislab.regularizers.KL', init_args=1)"
            ),
            "model.regularizers: KL has no setting 'latent_dim'; it has beta, ",
        ),
        (
            "Parser key \"data\":\n  Option 'batch_sze' is not accepted. Got value: "
            "Namespace(class_path='dislab.datamodules.PairedData', init_args=1)",
            "data: PairedData has no setting 'batch_sze' (did you mean batch_size?); it has "
            "dataset, scheme, k, change, rate, batch_size, include",
        ),
        (
            NESTED.format(reason="Expected a dot import path string: MLPEncoder"),
            "model.regularizers: MLPEncoder is one of the encoders; `dislab help MLPEncoder` "
            f"describes it; available regularizers: {REGULARIZERS}",
        ),
        (
            "Expected a dot import path string: TotalCorrelation",
            "TotalCorrelation is one of the regularizers; `dislab help TotalCorrelation` "
            "describes it",
        ),
        (
            NESTED.format(reason="Expected a dot import path string: Factorvae"),
            "model.regularizers: no part is named Factorvae; available regularizers: Capacity",
        ),
        (
            "Expected a dot import path string: Beta-TCVAE",
            "Beta-TCVAE is not a class but a configuration, which `dislab configs show betatcvae` "
            "shows; name it by --config betatcvae, and put changes behind it",
        ),
        (
            NESTED.format(reason="Importing 'KLL' is not allowed, denied by the '*' entry"),
            "model.regularizers.kl: KLL may not be named; parts are classes of dislab, torch, "
            f"lightning and installed plugins; available regularizers: {REGULARIZERS}",
        ),
        (
            "Parser key \"trainer.max_steps\":\n  Expected a <class 'int'>. Got value: four",
            "trainer.max_steps: expected a whole number, got 'four'",
        ),
        (
            NESTED_VALUE.format(key="include", value="['scale']", kind="collections.abc.Mapping"),
            "data.include: expected a mapping of names to values; got \"['scale']\"; write it like "
            "{shape: [heart], scale: {min: 0.6}}",
        ),
        (
            NESTED_VALUE.format(key="resize", value="'big'", kind="int"),
            "data.resize: expected a whole number; got 'big'",
        ),
        (
            NESTED_NEED,
            "model.regularizers.mine: Mine needs weight; give it by "
            "--model.regularizers.mine.weight VALUE, or in init_args of a file",
        ),
        (
            "the following arguments are required: data, model",
            "data and model must be given",
        ),
        ("unrecognized arguments: --trainer.max_stps 3", "trainer has no setting 'max_stps'"),
        (
            "Group 'trainer' does not accept option 'max_stps'",
            "trainer has no setting 'max_stps'",
        ),
        (
            "Option 'nam' is not accepted",
            "no setting at the top level is named 'nam'",
        ),
        (UNION, "pictures: expected true or false, or end; got 'never'"),
        (
            LITERALS,
            "trainer.precision: expected one of 64, 32, bf16-mixed; got 'bf16-mix' "
            "(did you mean bf16-mixed?)",
        ),
        (NO_CLASS.format(given="{'init_args': {'resize': 32}}"), f"data: {START}: dislab fit"),
        (
            NO_CLASS.format(given="[3]"),
            "data: expected the name of a class, or its class_path and init_args; got '[3]'; "
            "available datamodules: ",
        ),
        (
            ABSTRACT.format(
                key="model", base="Objective", given="NestedArg(key='latent_dim', val='3')"
            ),
            f"model: {START}: dislab fit",
        ),
        (
            ABSTRACT.format(
                key="model", base="Objective", given="{'class_path': 'dislab.base.Objective'}"
            ),
            "model: Objective is a base class; name a class that derives from it; "
            "available objectives: AdaGVAE, ",
        ),
        (
            ABSTRACT.format(
                key="trainer.logger", base="Logger", given="NestedArg(key='x', val='3')"
            ),
            "trainer.logger: no class is named; give its class_path too",
        ),
        (
            NESTED.format(
                reason="Type X expects a callable class: Dict must include a class_path and "
                "optionally init_args, but got {'init_args': {'gama': 3}}. Got value: N(gama=3)"
            ).replace("{'class_path': 'KLL'}", "{'init_args': {'gama': 3}}"),
            "model.regularizers.kl: no class is named; give its class_path too; "
            f"available regularizers: {REGULARIZERS}",
        ),
        (
            NESTED.format(
                reason="Type X expects a callable class: Expected an import path or a subclass "
                "spec, but got 3. Got value: 3"
            ).replace("{'class_path': 'KLL'}", "3"),
            "model.regularizers.kl: expected the name of a class, or its class_path and init_args; "
            "got '3'; available regularizers: ",
        ),
        (
            NESTED.format(reason="Expected a <class 'dict'>. Got value: ['KL']"),
            "model.regularizers: expected a mapping of names to values, got \"['KL']\"",
        ),
        (
            NESTED.format(reason=INNER_UNION.format(other="Expected a <class 'NoneType'>")),
            "model.regularizers: expected a number; got 'abc'",
        ),
        (
            NESTED.format(
                reason=INNER_UNION.format(other="Expected a dot import path string: abc")
            ),
            "model.regularizers: expected a number; got 'abc'",
        ),
        (
            "argument --trainer.max_steps: expected one argument",
            "--trainer.max_steps has no value; write --trainer.max_steps VALUE",
        ),
        (
            'Parser key "trainer":\nUnable to load config \'[1]\'\n  - Parser key "trainer": '
            'Unable to load config "[1]"',
            "trainer: expected settings, or a file that holds them; got '[1]'",
        ),
        (
            'Parser key "evaluate.metrics":\n\n  - Expected a path but MIGG either not accessible '
            "or invalid\n  - Does not validate against any of the Union subtypes\n  Subtypes: [x]\n"
            "  Errors:\n    - Expected a <class 'dict'>\n    - Expected a <class 'NoneType'>\n"
            "  Given value type: <class 'str'>\n  Given value: MIGG",
            "evaluate.metrics: expected a mapping of names to values; got 'MIGG'",
        ),
        (
            "unrecognized arguments: trainer.max_steps 30",
            "trainer.max_steps is no option; options begin with --, such as --trainer.max_steps 30",
        ),
        (
            "unrecognized arguments: quick",
            "quick has no option before it; write --config quick",
        ),
        (
            "unrecognized arguments: more",
            "more has no option before it; write --SETTING more, or leave it out",
        ),
        (
            NESTED.format(reason="Expected a dot import path string: Adamm").replace(
                "regularizers", "optimizer"
            ),
            "model.optimizer: no optimiser is named Adamm (did you mean Adam?); it is a "
            "class of torch.optim, such as torch.optim.Adam",
        ),
        ("Unexpected config: model:\n", "the configuration sets no value; it says 'model:'"),
        ("something new\nwith two lines", "something new with two lines"),
    ],
)
def test_messages_say_where_what_and_what_is_allowed(message: str, explanation: str) -> None:
    top_level = ["name", "trainer.max_steps", "model"]
    assert explain(message, top_level).startswith(explanation)


def test_a_part_that_lacks_methods_is_named_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare(Dataset):
        def prepare(self) -> None: ...

    entry = dataclasses.replace(available("datasets")[0], name="Bare")
    monkeypatch.setattr(messages, "available", lambda group: [entry])
    monkeypatch.setattr(messages, "load", lambda group, name: Bare)
    message = """Parser key "data":
  Does not validate against any of the Union subtypes
  Errors:
    - Problem with given class_path 'dislab.datamodules.SingleData':
        Parser key "dataset":
          - Expected an instantiatable class, but Bare is abstract
  Given value: NestedArg(key='dataset', val='Bare')"""
    assert explain(message).startswith(
        "data.dataset: Bare lacks factors and gather and image_shape"
    )


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        (
            "fit",
            "start from a configuration such as --config betavae, which `dislab configs "
            "list` lists",
        ),
        ("test", "name a run, such as --run runs/betavae/version_0"),
    ],
)
def test_a_command_without_settings_names_where_they_come_from(
    command: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command]) == 2
    error = capsys.readouterr().err
    assert error == f"dislab: error: data and model must be given; {remedy}\n"


@pytest.mark.parametrize(("rank", "said"), [("0", "dislab: warning: x is continuous\n"), ("1", "")])
def test_warnings_are_one_line_and_own_ones_come_once_from_the_first_process(
    rank: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCAL_RANK", rank)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with warnings_in_one_line():
            warnings.warn("x is\n continuous", ContinuousFactorWarning, stacklevel=1)
            warnings.warn("x is\n continuous", ContinuousFactorWarning, stacklevel=1)  # once
            warnings.warn("of another\n program", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == said + "dislab: warning: of another program\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_the_source_line_of_a_warning(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def dispatch(command: str, args: list[str]) -> int:
        warnings.simplefilter("default")
        warnings.warn(f"{command} differs", UserWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(cli, "dispatch", dispatch)
    assert cli.main([command]) == 0
    assert capsys.readouterr().err == f"dislab: warning: {command} differs\n"


@pytest.mark.parametrize(
    ("setting", "name", "needs", "option"),
    [
        ("data.dataset", "NumpyDataset", "file", "data.dataset.file"),
        (
            "model.scheduler",
            "torch.optim.lr_scheduler.StepLR",
            "step_size",
            "model.scheduler.step_size",
        ),
        ("evaluate.metrics.mine", "Needy", "more", "evaluate.metrics.mine.more"),
        ("trainer.callbacks", "Caller", "bins", "trainer.callbacks.bins"),
    ],
)
def test_a_part_without_a_required_setting_is_named_with_the_option_that_gives_it(
    setting: str,
    name: str,
    needs: str,
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "needy.py").write_text(
        "from dislab.base import Metric\nfrom lightning.pytorch import Callback\n"
        "class Needy(Metric):\n    def __init__(self, factors, more: int): ...\n"
        "    def score(self, bank): ...\n"
        "class Caller(Callback):\n    def __init__(self, bins: int): ...\n"
    )
    points = "[dislab.metrics]\nNeedy = needy:Needy\n[dislab.callbacks]\nCaller = needy:Caller\n"
    installed(tmp_path, "mykit", points)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    assert cli.main(["fit", "--config", "betavae", f"--{setting}", name]) == 2
    assert (
        f"dislab: error: {setting}: {name.rpartition('.')[2]} needs {needs}; give it by "
        f"--{option} VALUE, or in init_args of a file\n"
    ) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "is_warned"),
    [
        (["--model.encoder=Further"], True),
        (["--model.regularizers.kl=Further"], False),
        (["--model.encoder=torch.nn.Linear"], False),
        (["--pictures=never"], False),
    ],
)
def test_only_parts_that_an_unknown_name_may_mean_are_warned_of(
    arguments: list[str],
    is_warned: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    installed(tmp_path, "mykit", "[dislab.encoders]\nWide = mykit_missing:Wide\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert cli.main(["fit", "--config", "betavae", *arguments]) == 2
    assert ("Wide of mykit 1.2 was left out" in capsys.readouterr().err) == is_warned
