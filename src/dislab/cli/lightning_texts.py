"""Explanations of Lightning's settings in plain words, in the place of its docstrings."""

from typing import Final

TITLES: Final = {
    "Customize every aspect of training via flags": "Lightning's trainer: length, machine and "
    "precision of training",
    "Runs the full optimization routine": "The checkpoint to begin with",
    "Perform one evaluation epoch over the validation set": "The checkpoint to use",
    "Perform one evaluation epoch over the test set": "The checkpoint to use",
    "Run inference on your data": "The checkpoint to use",
}
"""Headings by the first lines of Lightning's docstrings."""

_BATCHES: Final = "a share from 0.0 to 1.0 of them, or a whole number"

TEXTS: Final = {
    "--seed_everything": "Seed of all that is random; true draws one.",
    "--config": "A file with settings, or a name of `dislab configs list`; later ones override.",
    "--print_config": "Print all settings in YAML, and end.",
    "--ckpt_path": "File of the checkpoint; --run and --resume find that of a run.",
    "--weights_only": "Whether to read tensors and plain values only, so that a file from "
    "others can run no code; true unless set.",
    "--optimizer.lr": "The learning rate of the model: the size of a step of training.",
    "--trainer.accelerator": "Kind of device: cpu, gpu (or cuda, mps, tpu); auto takes the best "
    "one that is there.",
    "--trainer.strategy": "How several devices share the work, such as ddp; auto chooses.",
    "--trainer.devices": "How many devices to use, or a list of their numbers; -1 is all of them.",
    "--trainer.num_nodes": "Number of machines that train together.",
    "--trainer.precision": "Precision in which networks compute: 32-true, 64-true, bf16-mixed, "
    "or on a GPU 16-mixed. Losses are always computed in float32 or better.",
    "--trainer.logger": "Other loggers than those of --logger, by their classes; true is the "
    "logger that --logger names.",
    "--trainer.callbacks": "Further callbacks, as a list of classes.",
    "--trainer.fast_dev_run": "A rehearsal: run so many batches of each kind (true is 1), and "
    "keep nothing.",
    "--trainer.max_epochs": "Largest number of epochs; -1 is no limit. Unless this or max_steps "
    "is set, it is 1000.",
    "--trainer.min_epochs": "Least number of epochs before a callback may stop training.",
    "--trainer.max_steps": "Largest number of optimiser steps; -1 is no limit.",
    "--trainer.min_steps": "Least number of optimiser steps before a callback may stop training.",
    "--trainer.max_time": "Longest time of training, as days:hours:minutes:seconds, such as "
    "00:12:00:00, or as a mapping such as {hours: 12}.",
    "--trainer.limit_train_batches": f"Training batches of an epoch that are used: {_BATCHES}.",
    "--trainer.limit_val_batches": f"Validation batches that are used: {_BATCHES}.",
    "--trainer.limit_test_batches": f"Test batches that are used: {_BATCHES}.",
    "--trainer.limit_predict_batches": f"Batches that predict encodes: {_BATCHES}.",
    "--trainer.overfit_batches": f"Train on the same few batches again and again: {_BATCHES}; "
    "0.0 is off.",
    "--trainer.val_check_interval": "Training batches between two validations, or a share of an "
    "epoch such as 0.5, or a time such as 00:00:10:00. With check_val_every_n_epoch null the "
    "batches are counted across epochs.",
    "--trainer.check_val_every_n_epoch": "Epochs between two validations; null counts batches "
    "by val_check_interval alone.",
    "--trainer.num_sanity_val_steps": "Validation batches to try before training; -1 is all.",
    "--trainer.log_every_n_steps": "Optimiser steps between two rows of the log.",
    "--trainer.enable_checkpointing": "Whether to save checkpoints.",
    "--trainer.enable_progress_bar": "true shows a bar, false shows nothing; null leaves it to "
    "progress.show.",
    "--trainer.enable_model_summary": "Whether to print a table of the layers; null prints the "
    "number of weights only.",
    "--trainer.accumulate_grad_batches": "Batches whose gradients are added up for one "
    "optimiser step.",
    "--trainer.gradient_clip_val": "Largest norm of the gradients, or largest size of each (see "
    "gradient_clip_algorithm); null is no limit.",
    "--trainer.gradient_clip_algorithm": "norm limits the norm of all gradients together, value "
    "each of them; norm unless set.",
    "--trainer.deterministic": "Whether to use only operations that repeat to the bit; warn "
    "prints a warning where there is none.",
    "--trainer.benchmark": "Whether cuDNN tries its algorithms and keeps the fastest.",
    "--trainer.inference_mode": "Whether validation and test use torch.inference_mode, which is "
    "faster than torch.no_grad.",
    "--trainer.use_distributed_sampler": "Whether several processes share the batches of a data "
    "loader; dislab's data modules share them themselves.",
    "--trainer.profiler": "Measure the time of each part of training: simple, advanced or pytorch.",
    "--trainer.detect_anomaly": "Whether autograd looks for the operation that gives NaN; slow.",
    "--trainer.barebones": "Whether to leave out all that costs time beside training, such as "
    "logs and checkpoints; to measure the trainer alone.",
    "--trainer.plugins": "Lightning plugins, such as those of precision or of checkpoint files.",
    "--trainer.sync_batchnorm": "Whether batch normalisation is shared by all processes.",
    "--trainer.reload_dataloaders_every_n_epochs": "Epochs after which data loaders are made "
    "again; 0 is never.",
    "--trainer.default_root_dir": "Folder for files that have no other place; the run folder "
    "unless set.",
    "--trainer.enable_autolog_hparams": "Whether the loggers receive the settings.",
    "--trainer.model_registry": "Name of a model in Lightning's registry, which dislab does not "
    "use.",
    "--checkpoint.dirpath": "Folder of the checkpoints; checkpoints/ of the run folder unless set.",
    "--checkpoint.filename": "Name of the files, such as {step}-{val/loss:.2f}; {epoch}-{step} "
    "unless set.",
    "--checkpoint.monitor": "The logged value whose best checkpoints are kept, such as "
    "val/loss; see save_top_k and mode.",
    "--checkpoint.verbose": "Whether to print a line for each file.",
    "--checkpoint.save_last": "Whether to keep the newest checkpoint as last.ckpt.",
    "--checkpoint.save_top_k": "How many of the best checkpoints by monitor are kept; -1 is "
    "all, 0 none.",
    "--checkpoint.save_on_exception": "Whether to save a checkpoint when training fails.",
    "--checkpoint.save_weights_only": "Whether to save the weights without the state of the "
    "optimiser; such a run cannot go on.",
    "--checkpoint.mode": "Whether the best value of monitor is the smallest (min) or the "
    "largest (max).",
    "--checkpoint.auto_insert_metric_name": "Whether the names of values stand in the names of "
    "files; false for values with / in their names.",
    "--checkpoint.every_n_train_steps": "Optimiser steps between two checkpoints; of this, "
    "every_n_epochs and train_time_interval, set one.",
    "--checkpoint.train_time_interval": "Time between two checkpoints, such as 00:10:00.",
    "--checkpoint.every_n_epochs": "Epochs between two checkpoints.",
    "--checkpoint.save_on_train_epoch_end": "Whether to save at the end of an epoch of training "
    "(true) or of validation (false); null chooses by the settings of validation.",
    "--checkpoint.enable_version_counter": "Whether a second file of the same name gets a "
    "number, instead of replacing the first.",
}
"""Explanations by option."""
