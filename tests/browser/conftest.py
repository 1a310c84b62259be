"""A headless Chromium driven over the WebDriver protocol with the standard library alone; without Chromium every test here fails."""

import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import pytest

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element's id in WebDriver's JSON
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run",
    "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage",
)  # fmt: skip


class Browser:
    """One session. Methods return plain values."""

    def __init__(self, port, chromium, profile):
        self.base = f"http://127.0.0.1:{port}"
        options = {"binary": chromium, "args": [*FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.base += f"/session/{self.ask('POST', '/session', {'capabilities': {'alwaysMatch': wanted}})['sessionId']}"

    def ask(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def open(self, path):
        self.logs()
        self.ask("POST", "/url", {"url": path.as_uri()})

    def run(self, script, *arguments):
        """The value of a script's `return`."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def devtools(self, command, **parameters):
        return self.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def logs(self):
        """(console lines, addresses asked for) since the last call."""
        console = [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"})]
        events = [json.loads(entry["message"])["message"] for entry in self.ask("POST", "/se/log", {"type": "performance"})]
        return console, [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def press(self, key):
        """Press a key on what has the focus."""
        actions = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def click(self, selector):
        found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
        self.ask("POST", f"/element/{found[ELEMENT]}/click")

    def screen(self, width, height=900):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, kind="", scheme="light"):
        self.devtools("Emulation.setEmulatedMedia", media=kind, features=[{"name": "prefers-color-scheme", "value": scheme}])


@pytest.fixture(scope="session")
def browser():
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        pytest.fail(f"{' and '.join(missing)} not found: these tests need both, on Debian: apt-get install chromium chromium-driver")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        driver = subprocess.Popen([programs["chromedriver"], f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            session = Browser(port, programs["chromium"], profile)
            yield session
            session.ask("DELETE", "")
        finally:
            driver.terminate()
            driver.wait(10)
