"""Frames a second and size of the latent explorer, in headless Chromium on one core.

    python benchmarks/explorer.py --out benchmarks/results/explorer.json

Needs Chromium with its driver, and Linux. Each decoder has random weights; a frame is a new code
decoded and painted, as after a move of a slider. Frames are counted over seconds of the browser's
processor time, which other work on the machine hardly changes, and over seconds of the clock. The
difference is the largest one from PyTorch with the same rounded weights, over 20 codes, in pixels
of [0, 1].
"""

import argparse
import json
import os
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from dislab.decoders import ConvDecoder64, ConvGenerator, MLPDecoder, SpatialBroadcastDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import VAE
from dislab.regularizers import KL
from dislab.report.document import asset
from dislab.report.network import network_of, rounded_decoder
from hardware import processor

SECONDS = 3.0
CODES = 20
CASES = {
    "ConvDecoder64, locatello, grey": (partial(ConvDecoder64, preset="locatello"), (1, 64, 64)),
    "ConvDecoder64, burgess, RGB": (partial(ConvDecoder64, preset="burgess"), (3, 64, 64)),
    "ConvGenerator, MNIST": (ConvGenerator, (1, 28, 28)),
    "MLPDecoder, 3 x 1200, grey": (MLPDecoder, (1, 64, 64)),
    "SpatialBroadcastDecoder, 4 x 64, grey": (SpatialBroadcastDecoder, (1, 64, 64)),
}
COMPARE = """
const {network, codes, pixels, shape} = JSON.parse(
  document.querySelector('script[type="application/json"]').textContent);
const decode = decoderOf(network);
const canvas = document.createElement('canvas');
[, canvas.height, canvas.width] = shape;
globalThis.frame = (number) => paint(canvas, decode(codes[number % codes.length]), shape);
let difference = 0;
codes.forEach((code, row) => decode(code).forEach((value, i) => {
  difference = Math.max(difference, Math.abs(value - pixels[row][i]));
}));
return difference;
"""
MEASURE = """
const start = performance.now();
let frames = 0;
while (performance.now() - start < 1000 * arguments[0]) frame(frames++);
return [frames, (performance.now() - start) / 1000];
"""


def browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(120)
    return driver


def processor_seconds(root: int) -> float:
    """Processor time of a process and all below it."""
    parents, used = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            process = int(stat.parent.name)
            parents[process] = int(fields[1])
            used[process] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    family = {root}
    while (
        more := {identifier for identifier, parent in parents.items() if parent in family} - family
    ):
        family |= more
    return sum(used[identifier] for identifier in family if identifier in used)


def measured(driver: webdriver.Chrome, folder: Path, decoder, shape) -> dict[str, float]:
    torch.manual_seed(0)
    model = VAE(shape, 100, 10, partial(MLPEncoder, hidden=(4,)), decoder, {"kl": KL}).eval()
    network = network_of(model)
    assert not isinstance(network, str), network
    codes = torch.randn(CODES, 10)
    with torch.inference_mode():
        pixels = rounded_decoder(model.decoder)(codes).sigmoid().flatten(1)
    data = {
        "network": network.record(),
        "codes": codes.tolist(),
        "pixels": pixels.tolist(),
        "shape": shape,
    }
    page = folder / "page.html"
    page.write_text(
        "<!doctype html><meta charset=utf-8>"
        f"<script type='application/json'>{json.dumps(data)}</script>"
        f"<script>{asset('decoder.js')}</script>"
    )
    driver.get(page.as_uri())
    difference = driver.execute_script(COMPARE)
    before = processor_seconds(driver.service.process.pid)
    frames, elapsed = driver.execute_script(MEASURE, SECONDS)
    used = processor_seconds(driver.service.process.pid) - before
    return {
        "parameters": network.parameters,
        "bytes": len(json.dumps(network.record())),
        "rounding": network.rounding,
        "difference": difference,
        "frames_per_processor_second": round(frames / used, 1),
        "frames_per_second": round(frames / elapsed, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the browser inherits the one core
    driver = browser()
    try:
        with TemporaryDirectory() as folder:
            rows = {name: measured(driver, Path(folder), *case) for name, case in CASES.items()}
        version = driver.capabilities["browserVersion"]
    finally:
        driver.quit()
    for name, row in rows.items():
        print(name, row)
    if options.out:
        record = {
            "processor": processor(),
            "versions": {"chromium": version, "torch": torch.__version__},
            "decoders": rows,
        }
        options.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
