"""The command that installs shell completion, apart from the others: it is slow to import."""

from cyclopts.completion.install import create_install_completion_command

from foveate.cli.app import app

__all__ = ["install_completion"]

install_completion = create_install_completion_command(app.install_completion, True)
