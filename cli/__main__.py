"""`python -m attnprobe.cli` is the command `probe`."""

from attnprobe.cli.probe import app

if __name__ == "__main__":
    app(prog_name="probe")
