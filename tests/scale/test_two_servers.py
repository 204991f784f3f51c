"""Two servers of one endpoint at once: what one of them did counts at the other in the same moment."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from lifeboat_endpoint.maintenance import tenant_removal
from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from lifeboat_vault.vault import Vault, draft_of_state
from support.endpoint.endpoint_purges import machine_in
from support.patience import patience
from support.scale.shared_endpoint import Joined, Program, Server, SharedEndpoint, new_folder, together
from support.scale.shared_lives import a_tenant_is_whole, the_audit_is_whole
from support.waiting import until

ROUNDS = 8


@pytest.fixture
def sides(shared: SharedEndpoint, tenant: Joined) -> Iterator[list[httpx.Client]]:
    """A client of each server."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(tenant.client(url=server.url)) for server in shared.servers]


def registered(client: httpx.Client, machine: TrialMachine) -> str:
    document = {"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"}
    assert client.post("/agents", json=document).status_code == 201
    return f"/agents/{machine.agent_id}"


def pushed(client: httpx.Client, machine: TrialMachine) -> str:
    path = registered(client, machine)
    machine.capture()
    assert client.put(f"{path}/snapshot", content=machine.snapshot().file.read()).status_code == 201
    return path


def twin(machine: TrialMachine, folder: Path, user: UserKey) -> TrialMachine:
    """Another machine of the same user that restored the agent."""
    folder.mkdir()
    vault = Vault.create(folder / "vault", machine.agent_id)
    state = machine.vault.state()
    vault.accept(state.sequence, draft_of_state(state), kind="pull", writer="test", raw_time=state.sequence.time)
    return TrialMachine(machine.agent_id, vault, DeviceKey.generate(user), "desktop", machine.made)


def test_of_two_machines_that_push_through_two_servers_at_once_one_wins(
    sides: list[httpx.Client], shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    for number in range(ROUNDS):
        user = UserKey.generate()
        (tmp_path / str(number)).mkdir()
        laptop = machine_in(tmp_path / str(number), user)
        path = pushed(sides[number % 2], laptop)
        desktop = twin(laptop, tmp_path / f"{number} twin", user)
        laptop.capture()
        desktop.capture(raw__openclaw__OTHER=b"written elsewhere")
        where = f"{path}/deltas?base_sequence=0"
        answers = together(
            partial(sides[0].post, where, content=laptop.delta(0).file.read()),
            partial(sides[1].post, where, content=desktop.delta(0).file.read()),
        )
        assert sorted(answer.status_code for answer in answers) == [201, 409], [each.text for each in answers]
        winner = (laptop, desktop)[[answer.status_code for answer in answers].index(201)]
        for side in sides:
            found = side.get(path).json()["head"]
            assert (found["sequence"], found["digest"]) == (1, winner.here.digest.hex())
        laptop.vault.close()
        desktop.vault.close()
    a_tenant_is_whole(shared, tenant.tenant)


def test_the_same_push_through_two_servers_at_once_is_one_push(
    sides: list[httpx.Client], shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    machine = machine_in(tmp_path)
    path = pushed(sides[0], machine)
    for number in range(ROUNDS):
        machine.capture()
        body = machine.delta(number).file.read()
        where = f"{path}/deltas?base_sequence={number}"
        answers = together(*(partial(side.post, where, content=body) for side in sides))
        assert {answer.status_code for answer in answers} <= {200, 201}, [each.text for each in answers]
    listed = [each.json() for each in (side.get(f"{path}/sequences") for side in sides)]
    assert listed[0] == listed[1]
    a_tenant_is_whole(shared, tenant.tenant)
    the_audit_is_whole(shared)


def test_an_agent_that_is_made_known_to_two_servers_at_once_is_one(sides: list[httpx.Client], tmp_path: Path) -> None:
    for number in range(ROUNDS):
        (tmp_path / str(number)).mkdir()
        machine = machine_in(tmp_path / str(number))
        document = {"id": machine.agent_id, "name": "ada", "source_runtime": "openclaw"}
        answers = together(*(partial(side.post, "/agents", json=document) for side in sides))
        assert sorted(each.status_code for each in answers) in ([200, 201], [201, 409]), [each.text for each in answers]
        machine.capture()
        body = machine.snapshot().file.read()
        where = f"/agents/{machine.agent_id}/snapshot"
        sent = together(*(partial(side.put, where, content=body) for side in sides))
        assert {each.status_code for each in sent} <= {200, 201}, [each.text for each in sent]
        machine.vault.close()
    names = [{each["id"] for each in side.get("/agents").json()["agents"]} for side in sides]
    assert names[0] == names[1] and len(names[0]) == ROUNDS


def test_an_epoch_that_one_server_began_is_in_force_at_the_other(sides: list[httpx.Client], tmp_path: Path) -> None:
    machine = machine_in(tmp_path)
    path = pushed(sides[0], machine)
    for number in range(ROUNDS):
        one, other = sides[number % 2], sides[1 - number % 2]
        before = other.get(path).json()["epoch"]
        made = one.post(f"{path}/epoch", json={"expected": before})
        assert made.status_code in (200, 201)
        assert other.get(path).json()["epoch"] == made.json()["epoch"] > before
        assert other.post(f"{path}/epoch", json={"expected": before}).status_code == 409
    now = sides[0].get(path).json()["epoch"]
    raced = together(*(partial(side.post, f"{path}/epoch", json={"expected": now}) for side in sides))
    assert sorted(each.status_code for each in raced)[1] == 409
    machine.capture()
    late = sides[1].post(f"{path}/deltas?base_sequence=0", content=machine.delta(0).file.read())
    assert late.status_code == 409, late.text


def test_a_token_that_was_revoked_at_one_server_is_refused_at_the_other(shared: SharedEndpoint, tenant: Joined) -> None:
    for number in range(ROUNDS):
        secret = shared.endpoint.control.add_token(tenant.tenant.id, f"lent {number}", DEVICE_SCOPES)[1]
        urls = [server.url for server in shared.servers]
        with tenant.client(secret, urls[number % 2]) as one, tenant.client(secret, urls[1 - number % 2]) as other:
            assert [side.get("/token").status_code for side in (one, other)] == [200, 200]
            assert one.delete("/token").status_code == 204
            assert other.get("/token").status_code == 401


def test_a_tenant_that_is_removed_is_gone_from_both_servers_at_once(
    shared: SharedEndpoint, sides: list[httpx.Client], tenant: Joined, tmp_path: Path
) -> None:
    path = pushed(sides[0], machine_in(tmp_path))
    assert [side.get(path).status_code for side in sides] == [200, 200]
    tenant_removal.remove_tenant(shared.endpoint, tenant.tenant.id)
    assert [side.get(path).status_code for side in sides] == [401, 401]


def test_a_server_has_no_way_into_the_database_but_its_own(shared: SharedEndpoint, tenant: Joined) -> None:
    """The machine that it runs on knows the password of no other role."""
    data = new_folder(shared.folder, "api-only", shared.store)
    lines = shared.database.passfile.read_text().splitlines()
    passfile = shared.folder / "api-passfile"
    passfile.write_text("\n".join(line for line in lines if ":lifeboat_api:" in line) + "\n")
    passfile.chmod(0o600)
    settings = (data / "endpoint.json").read_text()
    (data / "endpoint.json").write_text(settings.replace(str(shared.database.passfile), str(passfile)))
    server = Server(data, shared.url)
    try:
        server.start()
        with tenant.client(url=server.url) as client:
            assert client.get("/agents").json() == {"agents": [], "next": None}
            assert client.get("/readyz").status_code == 200
    finally:
        server.kill()


def test_a_server_that_begins_while_the_database_is_away_serves_when_it_is_back(
    shared: SharedEndpoint, tenant: Joined
) -> None:
    server = shared.servers[0]
    server.kill()
    shared.database.stop("immediate")
    try:
        Program.start(server)
        with httpx.Client(base_url=server.url, timeout=patience()) as client:
            until(lambda: lives(client), "it lives")
            assert client.get("/readyz").status_code == 503
    finally:
        shared.database.start()
    with tenant.client(url=server.url) as client:
        until(lambda: client.get("/agents").status_code == 200, "it serves")


def lives(client: httpx.Client) -> bool:
    try:
        return client.get("/livez").status_code == 200
    except httpx.TransportError:
        return False


def test_nobody_notices_that_a_server_is_stopped_and_started_under_load(
    shared: SharedEndpoint, tenant: Joined, tmp_path: Path
) -> None:
    """The balancer asks whether a server is ready, and passes requests on once."""
    over, wrong, count = threading.Event(), list[str](), [0] * 4

    def reader(number: int) -> None:
        with tenant.client() as client:
            while not over.is_set():
                try:
                    answer = client.get(f"/agents/{machine.agent_id}/snapshot")
                    if answer.status_code != 200:
                        wrong.append(f"{answer.status_code} {answer.text}")
                except httpx.HTTPError as error:
                    wrong.append(repr(error))
                count[number] += 1

    with tenant.client() as client:
        machine = machine_in(tmp_path)
        pushed(client, machine)
    threads = [threading.Thread(target=reader, args=(number,)) for number in range(len(count))]
    for thread in threads:
        thread.start()
    try:
        for server in shared.servers:
            time.sleep(0.5)
            assert server.stop() == 0
            time.sleep(0.5)
            shared.restart([server])
    finally:
        over.set()
        for thread in threads:
            thread.join(patience())
    print(f"{sum(count)} requests")
    assert wrong == []
    assert sum(count) > 50
