from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import ModelCheckpoint

from dislab.callbacks import Checkpoints


def test_states_are_exchangeable_with_those_of_lightning(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"dirpath": tmp_path, "monitor": "loss", "every_n_train_steps": 5}
    own, theirs = Checkpoints(**settings), ModelCheckpoint(**settings)
    assert own.state_key == theirs.state_key
    theirs.best_model_path = "best.ckpt"
    own.load_state_dict(theirs.state_dict())
    assert own.best_model_path == "best.ckpt"
