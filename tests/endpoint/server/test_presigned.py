"""Signed addresses: one transfer, for some minutes, and an upload once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_endpoint.server import presigned
from lifeboat_vault.errors import UnknownAtRemote
from support.endpoint.served_apps import ServedApp, client, served
from support.endpoint.spaces import space_in
from support.vault.vaults import ManualClock

__all__ = ["client", "served"]
KEY = bytes(32)
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def permit(seconds: int = 900) -> str:
    expires = int(NOW.timestamp()) + seconds
    return presigned.sign_permission(KEY, presigned.Permission("PUT", "upload/1", 10, "t", "a", expires))


def test_an_address_permits_what_it_says() -> None:
    found = presigned.check_permission(KEY, permit(), "PUT", NOW)
    assert (found.object, found.limit, found.tenant, found.agent) == ("upload/1", 10, "t", "a")


def test_it_ends(served: ServedApp) -> None:
    token = permit(seconds=900)
    presigned.check_permission(KEY, token, "PUT", NOW + timedelta(seconds=899))
    with pytest.raises(UnknownAtRemote):
        presigned.check_permission(KEY, token, "PUT", NOW + timedelta(seconds=900))


PERMITTED = permit()
"""The same in every example: what is drawn depends on it."""


@given(st.data())
def test_a_changed_one_permits_nothing(data: st.DataObject) -> None:
    token = PERMITTED
    place = data.draw(st.integers(0, len(token) - 2))
    letter = data.draw(st.sampled_from("ABCDxyz01_-.").filter(lambda letter: letter != token[place]))
    changed = token[:place] + letter + token[place + 1 :]
    if changed.split(".")[0] == token.split(".")[0]:  # the last letter of base64 has unused bits
        with pytest.raises(UnknownAtRemote):
            presigned.check_permission(bytes(31) + b"x", changed, "PUT", NOW)
    else:
        with pytest.raises(UnknownAtRemote):
            presigned.check_permission(KEY, changed, "PUT", NOW)


@given(st.text(max_size=80))
def test_what_is_no_address_permits_nothing(text: str) -> None:
    with pytest.raises(UnknownAtRemote):
        presigned.check_permission(KEY, text, "GET", NOW)


def test_another_method_and_another_key_permit_nothing() -> None:
    for key, method in ((KEY, "GET"), (bytes(31) + b"x", "PUT")):
        with pytest.raises(UnknownAtRemote):
            presigned.check_permission(key, permit(), method, NOW)


# Over the routes ----------------------------------------------------------------------------------------------------


def upload(served: ServedApp, client: httpx.Client) -> tuple[str, str, bytes]:
    """An upload that was begun: its path, the path that confirms it, and the bytes to send."""
    machine = served.registered(client)
    machine.capture()
    begun = client.post(
        f"/agents/{machine.agent_id}/snapshot/upload", headers={"Content-Type": "application/json"}
    ).json()
    confirm = f"/agents/{machine.agent_id}/snapshot/upload/{begun['snapshot_id']}/confirm"
    return path_of(begun["upload_url"]), confirm, machine.snapshot().file.read()


def path_of(url: str) -> str:
    """Return the path of an address, which must be below the public URL, whatever host was asked."""
    assert url.startswith("https://endpoint.example.com/")
    return urlsplit(url).path


def without(client: httpx.Client) -> dict[str, str]:
    """Return headers without the token."""
    return {"Authorization": ""}


def test_three_steps_send_a_snapshot_without_the_token(served: ServedApp, client: httpx.Client) -> None:
    path, confirm, data = upload(served, client)
    assert client.put(path, content=data, headers=without(client)).status_code == 204
    answer = client.post(confirm, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["sequence"], answer.json()["size_bytes"]) == (201, 0, len(data))
    assert client.post(confirm).status_code == 200


def test_an_upload_is_permitted_once(served: ServedApp, client: httpx.Client) -> None:
    path, _, data = upload(served, client)
    assert client.put(path, content=data).status_code == 204
    assert client.put(path, content=data).status_code == 404


def test_an_upload_that_is_not_there_yet_cannot_be_confirmed(served: ServedApp, client: httpx.Client) -> None:
    _, confirm, _ = upload(served, client)
    assert client.post(confirm).status_code == 422


def test_an_address_for_sending_fetches_nothing(served: ServedApp, client: httpx.Client) -> None:
    path, _, _ = upload(served, client)
    assert client.get(path).status_code == 404


def test_an_upload_of_another_agent_cannot_be_confirmed(served: ServedApp, client: httpx.Client) -> None:
    path, confirm, data = upload(served, client)
    client.put(path, content=data)
    other = served.registered(client).agent_id
    assert client.post(f"/agents/{other}/{confirm.split('/', 3)[3]}").status_code == 404


def test_an_address_ends_after_some_minutes(served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client)
    path = path_of(client.get(f"/agents/{machine.agent_id}/restore").json()["snapshot"]["url"])
    assert client.get(path, headers=without(client)).status_code == 200
    served.server.clock = ManualClock(datetime.now(UTC) + timedelta(seconds=901))
    assert client.get(path, headers=without(client)).status_code == 404


def test_an_address_of_a_tenant_that_was_removed_permits_nothing(served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client)
    path = path_of(client.get(f"/agents/{machine.agent_id}/restore").json()["snapshot"]["url"])
    permission = presigned.Permission(
        "GET", "restore/0", 0, served.tenants["office"], machine.agent_id, int(datetime.now(UTC).timestamp()) + 60
    )
    token = presigned.sign_permission(served.server.transfer_key(), permission)
    assert client.get(f"/transfers/{token}").status_code == 404
    served.server.endpoint.control.begin_removal(served.tenants["home"])
    for_everybody = [client.get(path).status_code for _ in range(8)]
    assert set(for_everybody) <= {200, 404}


def test_the_token_is_in_no_address_and_the_address_in_no_log(
    served: ServedApp, client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "lifeboat.endpoint"):
        path, _, data = upload(served, client)
        client.put(path, content=data)
    assert served.token not in path
    ours = "\n".join(record.getMessage() for record in caplog.records if record.name == "lifeboat.endpoint")
    assert "/transfers/{transfer}" in ours
    assert path.removeprefix("/transfers/") not in ours
    assert served.token not in ours


def test_an_address_ends_with_the_token_that_asked_for_it(served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client)
    path = path_of(client.get(f"/agents/{machine.agent_id}/restore").json()["snapshot"]["url"])
    sending, _, data = upload(served, client)
    assert client.get(path, headers=without(client)).status_code == 200
    assert client.delete("/token").status_code == 204
    assert client.get(path, headers=without(client)).status_code == 404
    assert client.put(sending, content=data, headers=without(client)).status_code == 404


def test_of_many_at_once_one_uses_an_upload(tmp_path: Path) -> None:
    """Each thread has a space of its own, as in the server."""
    space_in(tmp_path).close()
    begin = threading.Barrier(8)

    def use(_: int) -> int:
        with space_in(tmp_path) as space:
            begin.wait()
            return sum(space.use_once(f"use-{number}", NOW + timedelta(days=1)) for number in range(5))

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(use, range(8))) == 5


def test_what_is_larger_than_was_permitted_leaves_nothing(served: ServedApp, client: httpx.Client) -> None:
    served.server.limits = replace(served.server.limits, bundle_bytes=100)
    sending, confirm, data = upload(served, client)
    assert client.put(sending, content=data, headers=without(client)).status_code == 413
    assert client.post(confirm).status_code == 422
    assert list((served.folder / "data" / "tenants" / served.tenants["home"] / "files").iterdir()) == []
