"""The kind of remotes that are buckets of object stores: `s3://BUCKET/PREFIX`, `gs://...`, `az://...`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from lifeboat_core.errors import Busy
from lifeboat_core.remotes.bucket import bucket_address, bucket_credentials, bucket_problems
from lifeboat_core.remotes.bucket.bucket_address import S3, BucketAddress, parse_bucket_address
from lifeboat_core.remotes.contract import ONE, SEVERAL, RemoteConfig, RemoteKind
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_keys.installers import extra_command
from lifeboat_vault.errors import RemoteBusy, RemoteRefused

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
    from lifeboat_vault.remote.remote_contract import Remote


class BucketKind(RemoteKind):
    """A bucket, as `bucket_files` describes it. The token of such a remote is its credentials."""

    name = "bucket"
    is_sealed_by_default = True
    signs_requests = True
    access_advice = (
        "give credentials that may list and read the bucket: lifeboat remote add NAME URL --credentials-stdin"
    )

    def check_url(self, url: str) -> str:
        return parse_bucket_address(url).url

    def add_options(self, url: str, options: Mapping[str, str]) -> str:
        return bucket_address.add_options(parse_bucket_address(url), options).url

    def read_credentials(self, url: str, text: str) -> str:
        return bucket_credentials.read_credentials(parse_bucket_address(url).scheme, text)

    def open(self, context: Context, config: RemoteConfig, token: str | None) -> Remote:
        try:
            from lifeboat_core.remotes.bucket.bucket_client import BucketClient
            from lifeboat_core.remotes.bucket.bucket_files import BucketFiles, HomeSide
            from lifeboat_core.remotes.bucket.bucket_log import BucketLog
        except ImportError:
            raise RemoteRefused(
                "the library obstore, which buckets need, is not installed", fix=extra_command("buckets")
            ) from None
        address = parse_bucket_address(config.url)
        credentials = bucket_credentials.library_options(context, address.scheme, token)
        client = BucketClient(address, _add_command(config, address, token), credentials)
        home = HomeSide(
            context.files,
            context.clock,
            context.home.restore_folder / "tmp",
            lambda: context.keys().device.id,
            partial(_alone, context, config),
        )
        files = BucketFiles(
            client, address.place, config.id, home, sealed=config.sealed, tells_versions=address.scheme == S3
        )
        return BucketLog(context, files, sealed=config.sealed, name=config.name)

    def readable_by(self, config: RemoteConfig) -> str:
        if not config.sealed:
            return (
                "The bucket is not encrypted by this machine. Its operator can read everything except credentials, "
                "which only your key opens."
            )
        return (
            "The bucket is encrypted. Without your key, only the number of sequences, their times and their sizes can "
            "be read."
        )

    def describe_store(self, config: RemoteConfig) -> list[str]:
        several = [
            "Several machines may write to the bucket at the same time, because the store refuses to replace an object "
            "that another machine has changed."
        ]
        return [*(several if config.writers == SEVERAL else ()), *self.describe_limits(config)]

    def describe_limits(self, config: RemoteConfig) -> list[str]:
        found = []
        if config.writers == ONE:
            found.append(
                "One machine at a time may write to the bucket, because the store also replaces an object that another "
                "machine has changed. To write an agent from another machine, take it over: lifeboat agents adopt AGENT"
            )
        if config.keeps_versions:
            found.append(
                "The bucket keeps deleted objects as older versions. A purge does not remove these versions: "
                "configure the bucket to delete them, or turn versions and object lock off."
            )
        return found

    def describe_access(self, context: Context, config: RemoteConfig, token: str | None) -> str:
        scheme = parse_bucket_address(config.url).scheme
        return f"credentials {bucket_credentials.describe_source(context, scheme, token)}"

    def needs_network(self, url: str) -> bool:
        return not parse_bucket_address(url).is_on_this_machine

    def may_keep_token(self, known: RemoteConfig, moved: RemoteConfig) -> bool:
        """Requests are signed: the store does not see the secret."""
        before, after = parse_bucket_address(known.url), parse_bucket_address(moved.url)
        return (before.scheme, before.account, before.endpoint) == (after.scheme, after.account, after.endpoint)


def _add_command(config: RemoteConfig, address: BucketAddress, token: str | None) -> str:
    """Return the command that adds a bucket with the same options, or changes it if this home has it already."""
    options = {
        "--plain": not config.sealed,
        "--optional": config.optional,
        bucket_problems.CREDENTIALS: token is not None and not config.id,
    }
    name, url = quote_argument(config.name or "NAME"), quote_argument(address.url)
    return " ".join(("lifeboat remote add", name, url, *(option for option, is_given in options.items() if is_given)))


@contextmanager
def _alone(context: Context, config: RemoteConfig, agent_id: str) -> Iterator[None]:
    """Keep other processes of this home from replacing the head of an agent. Raises RemoteBusy."""
    from lifeboat_core.agents.locks import FILE_SECONDS, file_lock

    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(file_lock(context, context.home.remotes_folder / f"{config.id}.{agent_id}", "push"))
        except Busy as error:
            raise RemoteBusy(error.message, retry_after=FILE_SECONDS) from error
        yield


REMOTE_KIND = BucketKind()
