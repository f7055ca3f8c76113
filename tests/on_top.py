"""Let a virtual environment see the packages of the Python that runs this: on_top.py FOLDER."""

import site
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Write a `.pth` file into the environment that the first argument names."""
    python = Path(sys.argv[1]) / "bin/python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    folder = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout
    # behind its own packages, and with the `.pth` files of editable packages
    lines = [f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages()]
    (Path(folder.strip()) / "on_top.pth").write_text("".join(lines))


if __name__ == "__main__":
    main()
