"""Prefect, Label Studio and MLflow: what a client shows and gives is what plain requests to the server give."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE
from tests.products import label_studio, mlflow, prefect, starting
from tests.products.beside import Beside
from tests.servers.packages import imported
from tests.servers.worlds import Api, World, play

from restencil_generator.__main__ import main

pytestmark = pytest.mark.slow

SPECS = Path(__file__).resolve().parent / "specs"
HEADERS = {"Authorization": f"Token {starting.TOKEN}"}
#: What the server computes anew for each response, from the time.
OF_THE_MOMENT = frozenset({"estimated_start_time_delta", "estimated_run_time", "total_run_time", "created_ago"})


@pytest.fixture(params=["sync", "asyncio"])
def world(request: pytest.FixtureRequest) -> World:
    """The world that a program runs in."""
    found: World = request.param
    return found


@pytest.fixture
def prefect_server(tmp_path: Path) -> Iterator[str]:
    """A Prefect server without data."""
    with starting.prefect(tmp_path) as address:
        yield address


@pytest.fixture(scope="session")
def label_studio_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an empty database of Label Studio."""
    folder = tmp_path_factory.mktemp("label_studio")
    starting.label_studio_database(folder)
    return folder


@pytest.fixture
def label_studio_server(label_studio_database: Path, tmp_path: Path) -> Iterator[str]:
    """A Label Studio without data."""
    folder = tmp_path / "data"
    shutil.copytree(label_studio_database, folder)
    with starting.label_studio(folder) as address:
        yield address


@pytest.fixture
def mlflow_server(tmp_path: Path) -> Iterator[str]:
    """An MLflow server without data."""
    with starting.mlflow(tmp_path) as address:
        yield address


def generated(spec: Path, name: str, folder: Path) -> ModuleType:
    """The package of a spec."""
    assert main(["generate", str(spec), "--out", str(folder)]) == 0
    return imported(name, folder)


def imported_spec(document: str, name: str, folder: Path) -> ModuleType:
    """The package of what `restencil import` makes of the product's own document, without an edit."""
    source, spec = folder / "openapi.json", folder / f"{name}.yaml"
    # A server may take longer to make its document than an import waits for an address.
    source.write_bytes(httpx.get(document, timeout=PATIENCE).raise_for_status().content)
    assert main(["import", str(source), "--package", name, "--out", str(spec)]) == 0
    return generated(spec, name, folder)


def compared(program: Callable[[Beside], Awaitable[None]], beside: Beside) -> None:
    """Runs a program; nothing may differ, and much has to be compared."""

    async def run() -> None:
        try:
            await program(beside)
        finally:
            await beside.api.close()

    play(beside.api.world, run)
    assert beside.found == [] and beside.compared > 500


def test_prefect_with_a_written_spec_shows_what_the_server_says(
    world: World, prefect_server: str, tmp_path: Path
) -> None:
    """Lists by POST, lookups by name, actions, inputs below a run, and changes of many."""
    package = generated(SPECS / "prefect.yaml", "prefect_written", tmp_path)
    api = Api(world, package, "PrefectWritten", prefect_server)
    compared(prefect.program, Beside(api, prefect_server, volatile=OF_THE_MOMENT))


def test_prefect_imported_shows_what_the_server_says(world: World, prefect_server: str, tmp_path: Path) -> None:
    """The same program with the server's own OpenAPI document."""
    package = imported_spec(f"{prefect_server}/openapi.json", "prefect_imported", tmp_path)
    api = Api(world, package, "PrefectImported", prefect_server)
    compared(prefect.program, Beside(api, prefect_server, volatile=OF_THE_MOMENT, is_written=False))


def test_label_studio_with_a_written_spec_shows_what_the_server_says(
    world: World, label_studio_server: str, tmp_path: Path
) -> None:
    """Pages, filters by a part of the title, annotations below tasks, and responses without content."""
    package = generated(SPECS / "label_studio.yaml", "label_studio_written", tmp_path)
    api = Api(world, package, "LabelStudioWritten", label_studio_server, token=starting.TOKEN)
    compared(label_studio.program, Beside(api, label_studio_server, HEADERS, OF_THE_MOMENT))


def test_label_studio_imported_shows_what_the_server_says(
    world: World, label_studio_server: str, tmp_path: Path
) -> None:
    """The same program with the server's own OpenAPI document, which requires a `state` that the server leaves out."""
    document = f"{label_studio_server}/docs/api/schema/?format=json"
    package = imported_spec(document, "label_studio_imported", tmp_path)
    api = Api(world, package, "LabelStudioImported", label_studio_server, token=starting.TOKEN)
    volatile = OF_THE_MOMENT | {"state"}
    compared(label_studio.program, Beside(api, label_studio_server, HEADERS, volatile, is_written=False))


def test_mlflow_with_a_written_spec_shows_what_the_server_says(
    world: World, mlflow_server: str, tmp_path: Path
) -> None:
    """An API of the RPC style: keys in queries and bodies, `{}` as the response of changes, and renames of keys."""
    package = generated(SPECS / "mlflow.yaml", "mlflow_written", tmp_path)
    api = Api(world, package, "MlflowWritten", f"{mlflow_server}{mlflow.ROOT}")
    compared(mlflow.program, Beside(api, mlflow_server))
