"""The child process that holds Yosys: it runs the commands that it reads, one a line, and says which one it is at.

It is started by its path and imports nothing of the project, so that a crash, noise or memory of Yosys stays here.
"""

from __future__ import annotations

import sys

MARK = "@@ "


def main() -> None:
    """Run every line of standard input as a Yosys command; Yosys itself ends the process when one fails."""
    from pyosys import libyosys

    design = libyosys.Design()
    for line in sys.stdin.read().splitlines():
        sys.stdout.write(f"{MARK}{line}\n")
        sys.stdout.flush()
        libyosys.run_pass(line, design)


if __name__ == "__main__":
    main()
