"""The kind of remotes that are buckets of object stores: `s3://BUCKET/PREFIX`, `gs://...`, `az://...`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lifeboat_core.remotes.bucket import bucket_address, bucket_credentials
from lifeboat_core.remotes.bucket.bucket_address import S3, WORDS, parse_bucket_address
from lifeboat_core.remotes.contract import RemoteConfig, RemoteKind
from lifeboat_core.remotes.probed_store import writers_sentences
from lifeboat_core.remotes.probed_store.add_command import make_add_command
from lifeboat_keys.installers import extra_command
from lifeboat_vault.errors import RemoteRefused

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
    from lifeboat_vault.remote.remote_contract import Remote


class BucketKind(RemoteKind):
    """A bucket, as `probed_files` describes it. The token of such a remote is its credentials."""

    name = "bucket"
    is_sealed_by_default = True
    signs_requests = True
    has_credentials = True
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
            from lifeboat_core.remotes.probed_store.open_probed_log import open_probed_log
        except ImportError:
            raise RemoteRefused(
                "the library obstore, which buckets need, is not installed", fix=extra_command("buckets")
            ) from None
        address = parse_bucket_address(config.url)
        credentials = bucket_credentials.library_options(context, address.scheme, token)
        add = make_add_command(config, address.url, has_credentials=token is not None)
        client = BucketClient(address, add, credentials)
        return open_probed_log(
            context, client, config, kind=self.name, place=address.place, tells_versions=address.scheme == S3
        )

    def readable_by(self, config: RemoteConfig) -> str:
        if not config.sealed:
            return (
                "This machine does not encrypt the bucket. The operator of the bucket can read everything "
                "except credentials, which only your key opens."
            )
        return (
            "The bucket is encrypted. Without your key, only the number of sequences, their times and their sizes can "
            "be read."
        )

    def describe_store(self, config: RemoteConfig) -> list[str]:
        return [*writers_sentences.describe_several(config, WORDS), *self.describe_limits(config)]

    def describe_limits(self, config: RemoteConfig) -> list[str]:
        found = writers_sentences.describe_turns(config, WORDS)
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


REMOTE_KIND = BucketKind()
