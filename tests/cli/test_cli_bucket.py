"""`lifeboat remote` with a bucket: added, shown, examined, tested, synchronized, restored on a clean machine."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import BadSetting
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.bucket import bucket_credentials
from lifeboat_core.remotes.probed_store import writer_lease
from support.cli.cli_client import run
from support.core.buckets import CANARY, KEYS, TOKEN
from support.core.object_store import BUCKET, Conditions, ObjectStore, object_store

TEXT = "The orchard is behind the house."


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    with object_store() as running:
        yield running


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SETTLING", "SETTLING_NEW"):
        monkeypatch.setattr(writer_lease, name, 0.01)


@pytest.fixture
def context(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return Context.open()


def typed(*arguments: str, text: str, expect: int = 0) -> JsonObject:
    """Run a command with a text on standard input."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdin", io.StringIO(text))
        return run(*arguments, expect=expect)


def add(store: ObjectStore, *options: str, text: str = KEYS, expect: int = 0) -> JsonObject:
    place = ("remote", "add", "bucket", f"s3://{BUCKET}/boat", "--endpoint", store.address)
    return typed(*place, "--credentials-stdin", *options, text=text, expect=expect)


def add_agent(workspace: Path) -> None:
    workspace.mkdir()
    (workspace / "SOUL.md").write_text("# Ada\n")
    (workspace / "MEMORY.md").write_text(f"# Memory\n\n{TEXT}\n")
    run("agents", "add", str(workspace), "--name", "ada")


def test_an_added_bucket_says_who_can_read_it_and_how_many_may_write(store: ObjectStore, context: Context) -> None:
    document = add(store, "--region", "eu-central-1")
    assert document["url"] == f"s3://{BUCKET}/boat?endpoint={store.address}&region=eu-central-1"
    assert (document["writers"], document["keeps_versions"], document["sealed"]) == ("several", False, True)
    assert "Without your key" in document["readable"]
    shown = run("remote", "show", "bucket")
    assert (shown["kind"], shown["writers"]) == ("bucket", "several")


def test_the_secret_is_in_no_answer_and_in_no_other_file(store: ObjectStore, context: Context) -> None:
    document = add(store)
    assert CANARY not in str(document)
    holders = [
        path.name for path in context.home.folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()
    ]
    assert holders == ["bucket.token"]
    assert remote_registry.locate_token_file(context, "bucket").stat().st_mode & 0o077 == 0
    assert CANARY not in str(store.asked)


@pytest.mark.parametrize(
    "text", ["", "one-word", "a b c d", "[default]\nother = 1\n", '{"AccessKeyId": "a"}', "[" * 5000]
)
def test_credentials_of_another_form_are_refused_and_not_repeated(
    text: str, store: ObjectStore, context: Context
) -> None:
    refused = add(store, text=text, expect=1)
    assert "access key" in refused["error"]["message"] and "one-word" not in refused["error"]["message"]
    assert remote_registry.list_remotes(context) == []


@pytest.mark.parametrize(
    "text",
    [
        KEYS,
        "AKIAEXAMPLE not-a-real-secret",
        "[ada]\naws_access_key_id = AKIAEXAMPLE\naws_secret_access_key = not-a-real-secret\n",
        '{"Version": 1, "AccessKeyId": "AKIAEXAMPLE", "SecretAccessKey": "not-a-real-secret"}',
    ],
)
def test_credentials_are_read_in_every_form_that_tools_write(text: str) -> None:
    assert bucket_credentials.read_credentials("s3", text) == TOKEN


@pytest.mark.parametrize("text", ["not base64!", "", "SharedAccessSignature=sv=2024&sig=abc", '{"account_key": 3}'])
def test_an_account_key_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match="account key"):
        bucket_credentials.read_credentials("az", text)


def test_kept_credentials_come_before_those_of_the_environment(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    import obstore
    from obstore.store import AzureStore

    monkeypatch.setenv("AZURE_STORAGE_TOKEN", "a-token-of-another-account")
    kept = bucket_credentials.read_credentials("az", "bm90LWEtcmVhbC1rZXk=")
    options = bucket_credentials.library_options(context, "az", kept)
    nowhere = {"client_options": {"allow_http": True}, "retry_config": {"max_retries": 0}}
    opened = AzureStore("boat", account_name="ada", endpoint="http://127.0.0.1:9", **nowhere, **options)
    signed = obstore.sign(opened, "GET", "head.json", timedelta(minutes=1))
    assert "sig=" in signed


def test_credentials_are_replaced_by_the_file_that_gave_the_first_ones(store: ObjectStore, context: Context) -> None:
    add(store)
    typed("remote", "token", "bucket", "--token-stdin", text="AKIANEXT\nanother-fake-secret\n")
    kept = remote_registry.load_token(context, "bucket")
    assert kept is not None and "another-fake-secret" in kept


@pytest.mark.parametrize("options", [(), ("--plain", "--optional")])
def test_the_command_in_a_refusal_keeps_the_options_of_the_bucket(
    options: tuple[str, ...], store: ObjectStore, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.denies = "SignatureDoesNotMatch"
    first = add(store, *options, expect=1)["error"]["fix"]
    store.denies = ""
    typed(*shlex.split(first)[1:], text=KEYS)
    (made,) = remote_registry.list_remotes(context)
    assert (made.sealed, made.optional) == (not options, bool(options))
    store.denies = "SignatureDoesNotMatch"
    later = run("remote", "test", "bucket", expect=1)["error"]["fix"]
    store.denies = ""
    typed(*shlex.split(later)[1:], text="AKIANEXT another-fake-secret")
    assert remote_registry.list_remotes(context) == [made]
    # Also without the options: a known bucket stays as it is kept.
    run("remote", "add", "bucket", made.url)
    assert remote_registry.list_remotes(context) == [made]


def test_a_bucket_in_another_region_is_named_with_the_option_that_helps(store: ObjectStore, context: Context) -> None:
    store.denies = "AuthorizationHeaderMalformed"
    refused = add(store, expect=1)["error"]
    assert "another region than us-east-1" in refused["message"]
    assert refused["fix"].endswith("--credentials-stdin --region REGION")
    store.denies = ""
    typed(*shlex.split(refused["fix"].replace("REGION", "eu-central-1"))[1:], text=KEYS)
    (made,) = remote_registry.list_remotes(context)
    assert made.url.endswith("region=eu-central-1")


def test_a_profile_is_used_where_nothing_else_is_given(
    store: ObjectStore, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = context.home.folder.parent / "aws-credentials"
    file.write_text("[boat]\naws_access_key_id = AKIAEXAMPLE\naws_secret_access_key = not-a-real-secret\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", "boat")
    context.keys().ensure()
    run("remote", "add", "bucket", f"s3://{BUCKET}/boat", "--endpoint", store.address)
    found = {each["subject"]: each["result"] for each in _findings(run("doctor", "--remote", "bucket"))}
    assert "profile [boat]" in found["access"]


def _findings(document: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = document["findings"]
    return found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("https://boat.example.com", "--region", "eu-1"), "can only be used for a bucket"),
        (("file:///srv/ada/stick", "--endpoint", "https://s3.example.com"), "can only be used for a bucket"),
        (("gs://ada/boat", "--region", "eu-1"), "not an option for gs"),
        (("s3://ada/boat", "--endpoint", "http://s3.example.com"), "plain HTTP"),
    ],
)
def test_an_option_that_does_not_fit_the_address_is_refused(
    options: tuple[str, ...], said: str, context: Context
) -> None:
    assert said in run("remote", "add", "bucket", *options, expect=1)["error"]["message"]


def test_a_limit_is_said_when_it_is_added_and_in_the_status(context: Context, tmp_path: Path) -> None:
    with object_store(Conditions.IGNORED, keeps_versions=True) as store:
        document = add(store)
        assert (document["writers"], document["keeps_versions"]) == ("one", True)
        add_agent(tmp_path / "notes")
        (remote,) = run("status")["agents"][0]["remotes"]
        assert remote["writers"] == "one"
        assert ["One machine" in each for each in remote["limits"]] == [True, False]
        assert "purge does not remove" in remote["limits"][1]
        levels = {each["result"]: each["level"] for each in _findings(run("doctor", "--remote", "bucket"))}
        assert "warning" in [level for result, level in levels.items() if "purge does not remove" in result]


def test_the_versions_of_a_bucket_are_named_before_a_purge_claims_anything(context: Context, tmp_path: Path) -> None:
    with object_store(keeps_versions=True) as store:
        add(store)
        add_agent(tmp_path / "notes")
        run("sync")
        planned = run("purge", "ada", "--text", TEXT, "--dry-run")
        assert [each["keeps_versions"] for each in planned["remotes"]] == [True]
        done = run("purge", "ada", "--text", TEXT, "--yes")
        receipt = run("receipts", "show", done["receipt"])
        assert "older versions" in str(receipt)


def test_the_words_the_address_and_the_credentials_restore_on_a_clean_machine(
    store: ObjectStore, context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store)
    add_agent(tmp_path / "notes")
    assert run("sync")["agents"][0]["remotes"][0]["state"] == "ok"
    words = " ".join(context.keys().user_key().words())
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "clean"))
    (tmp_path / "words").write_text(words)
    run("keys", "recover", "--words-from", tmp_path / "words")
    add(store)
    run("restore", "ada", "--from", "bucket", "--to", str(tmp_path / "back"))
    assert (tmp_path / "back/MEMORY.md").read_bytes() == (tmp_path / "notes/MEMORY.md").read_bytes()
