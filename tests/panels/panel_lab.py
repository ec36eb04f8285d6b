"""A real JupyterLab and browser for the panels' tests: one warm Lab, one notebook per test.

The Lab listens on loopback and keeps its settings in a separate folder. Notebooks are opened by the
application's own commands, which takes a tenth of the time of a page load.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from playwright.sync_api import Browser, Dialog, Locator, Page, expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 120_000
"""Milliseconds to wait for a page: enough for a busy machine."""
# This option applies to the whole process, so it is set only here.
expect.set_options(timeout=PATIENCE)

SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {
        "checkForUpdates": False,
        "fetchNews": "false",
    },
    "@jupyter-widgets/jupyterlab-manager/plugin": {"saveState": True},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}
OPEN = """async ({path}) => {
    const app = window.jupyterapp;
    const panel = await app.commands.execute('docmanager:open', {path, factory: 'Notebook'});
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.revealed;
}"""
IN_FRONT = "path => window.jupyterapp.shell.currentWidget?.context?.path === path"
CELLS = """async (sources) => {
    const panel = window.jupyterapp.shell.currentWidget;
    const model = panel.content.model.sharedModel;
    const before = model.cells.length;
    sources.forEach((source, at) => model.insertCell(at, {cell_type: 'code', source}));
    model.deleteCellRange(sources.length, sources.length + before);
    panel.content.activeCellIndex = 0;
}"""
THEME = """async (wanted) => {
    await window.jupyterapp.commands.execute('apputils:change-theme', wanted);
}"""
RUN = "async () => { await window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
SAVE = "async () => { await window.jupyterapp.shell.currentWidget.context.save(); }"
CHANGE = "() => { window.jupyterapp.shell.currentWidget.context.model.dirty = true; }"
RESTART = """async () => {
    await window.jupyterapp.shell.currentWidget.sessionContext.restartKernel();
}"""
T = TypeVar("T")


class Lab:
    """A running JupyterLab: its address, its token and the folder of its notebooks."""

    def __init__(self, url: str, token: str, folder: Path) -> None:
        self.url = url
        self.token = token
        self.folder = folder


@contextmanager
def running_lab(folder: Path, variables: dict[str, str]) -> Iterator[Lab]:
    """Run a Lab in `folder` during the block, with `variables` in its kernels' environment."""
    home, token = folder / "home", secrets.token_hex(16)
    notebooks = folder / "notebooks"
    notebooks.mkdir(parents=True)
    for name, value in SETTINGS.items():
        path = home / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), "utf-8")
    log = folder / "lab.log"
    places = {
        "HOME": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_TOKEN": token,
    }
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
        "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", f"--ServerApp.root_dir={notebooks}",
        "--LabApp.expose_app_in_browser=True", "--LabApp.collaborative=False",
        "--LabApp.extension_manager=readonly",
    ]  # fmt: skip
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, env=os.environ | places | variables, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            yield Lab(_address(server, home / "runtime", log), token, notebooks)
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _address(server: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    def found() -> str | None:
        assert server.poll() is None, log.read_text("utf-8", "replace")
        for path in runtime.glob("jpserver-*.json"):
            try:
                return str(json.loads(path.read_text("utf-8"))["url"]).rstrip("/")
            except ValueError:  # the file is being written
                return None
        return None

    return until(found, "JupyterLab to say where it is")


def at_last(look: Callable[[], list[str]], seconds: float = 30.0) -> list[str]:
    """Call `look` until it finds nothing or the seconds are over; return its last result."""
    deadline = time.monotonic() + seconds
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def until(look: Callable[[], T | None], what: str, seconds: float = PATIENCE / 1000) -> T:
    """Call `look` repeatedly until it finds something; fail at a deadline."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds:.0f} s for {what}")


class Desk:
    """A browser page with Lab in it; `requests` are the addresses that the page requested."""

    def __init__(self, lab: Lab, page: Page) -> None:
        self.lab = lab
        self.page = page
        self.requests: list[str] = []
        self._idle: list[Notebook] = []
        self.dialogs: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", self._answer)
        page.set_default_timeout(PATIENCE)
        page.goto(f"{lab.url}/lab?reset&token={lab.token}")
        self._restored()

    def _answer(self, dialog: Dialog) -> None:
        """Confirm leaving a page, and note all other dialogs.

        Lab prompts while anything is unsaved, and a panel's widget marks its notebook as unsaved
        whenever it is shown, even just after saving.
        """
        if dialog.type == "beforeunload":
            dialog.accept()
            return
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _restored(self) -> None:
        self.page.wait_for_function("() => window.jupyterapp !== undefined")
        self.page.evaluate("async () => { await window.jupyterapp.restored; }")

    def reload(self, notebook: Notebook) -> None:
        """Load the page again and show the same notebook; its kernel keeps running."""
        self.page.goto(f"{self.lab.url}/lab?reset")
        self._restored()
        notebook.show()

    def theme(self, name: str) -> None:
        """Change the theme, and wait until it is applied."""
        self.page.evaluate(THEME, {"theme": name})
        light = str(name.endswith("Light")).lower()
        self.page.wait_for_function(
            "light => document.body.dataset.jpThemeLight === light", arg=light
        )

    def narrow(self) -> None:
        """Close the left side bar."""
        self.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")

    def open(self, name: str, *cells: str) -> Notebook:
        """Open a notebook with these code cells and a kernel: an idle one, or a new one.

        A test waits longest for a kernel to import everything, so a closed notebook is kept and
        reused with other cells; `name` is the file's name for a new notebook.
        """
        if self._idle:
            notebook = self._idle.pop()
            notebook.show()
            self.page.evaluate(CELLS, list(cells))
            return notebook
        import nbformat  # the import takes two seconds

        path = self.lab.folder / f"{name}.ipynb"
        content = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(content, path)
        notebook = Notebook(self.page, path, self._idle)
        notebook.show()
        return notebook


class Notebook:
    """An open notebook; after closing, it is one of the `idle` ones."""

    def __init__(self, page: Page, path: Path, idle: list[Notebook]) -> None:
        self.page = page
        self.path = path
        self.view = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        self._idle = idle

    def show(self) -> Notebook:
        """Bring the notebook to the front."""
        self.page.evaluate(OPEN, {"path": self.path.name})
        self.page.wait_for_function(IN_FRONT, arg=self.path.name)
        return self

    def run(self) -> Notebook:
        """Run every cell, and wait until the last one has finished."""
        self.page.evaluate(RUN)
        return self

    def restart(self) -> None:
        """Restart the kernel: its variables are lost, and the outputs stay on screen."""
        self.page.evaluate(RESTART)

    @property
    def panel(self) -> Locator:
        """Return the panels in the notebook's outputs."""
        return self.view.locator(".treasury-panel")

    @property
    def cells(self) -> Locator:
        """Return the notebook's cells."""
        return self.view.locator(".jp-Cell")

    def saved(self) -> str:
        """Save, and return the file's content."""
        self.page.evaluate(SAVE)
        return self.path.read_text("utf-8")

    def changed(self) -> None:
        """Mark the notebook as unsaved, as a widget may do at any time."""
        self.page.evaluate(CHANGE)

    def close(self) -> None:
        """Remove the notebook's cells; its kernel keeps running for the next test."""
        self.show()
        self.page.evaluate(CELLS, ["pass"])
        self.page.evaluate(SAVE)
        self._idle.append(self)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Run Chromium, driven by Playwright."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
