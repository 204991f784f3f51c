"""Files that programs make for credentials are cut; tokens of known issuers are reported in any file."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_adapters.secrets import credential_files
from support.core.protected import Protected
from support.credential_files import samples


def test_every_kind_of_file_is_cut_or_reported(tmp_path: Path) -> None:
    made = Protected(tmp_path / "agent", config="{}\n")
    known = samples(tmp_path)
    for sample in known:
        made.write(sample.path, sample.text)
    report = made.add()
    assert report.waiting == {}
    found = {}
    for sample in known:
        path = next(where for where in (f"artifacts/{sample.path}", f"raw/openclaw/{sample.path}") if made.meta(where))
        body = made.body(path)
        in_clear = sample.secret.encode() in body or sample.secret.encode("utf-16-le") in body
        outcome = "kept" if path not in report.looks_like_secret else "reported"
        found[sample.path] = outcome if in_clear else "cut"
    assert found == {sample.path: sample.outcome for sample in known}


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        (".netrc", "machine a login b password c\nmachine d password\n  e\n", ["c", "e"]),
        (".pgpass", "# a:b:c:d:no\nh:1:d:u:p\\:w:x\n", ["p\\:w:x"]),
        (".npmrc", "//r/:_authToken=${NPM_TOKEN}\nregistry=https://r/\n//r/:_password=abc\n", ["abc"]),
        (
            ".bash_history",
            "mysql -pabc\nexport A_TOKEN=$X\nA_TOKEN=def ls --password 'ghi'\n",
            ["abc", "$X", "def", "ghi"],
        ),
        ("cookies.txt", "# Netscape HTTP Cookie File\n#HttpOnly_x\tT\t/\tT\t0\tn\tv\n", ["v"]),
        ("id_rsa.pub", "ssh-rsa AAAA", None),
        ("config.json", '{"theme": "dark"}', None),
        (".netrc.example", "machine a password c", None),
        ("config", "clusters: []\nusers:\n- user:\n    client-key-data: QUJD\n    username: me\n", ["QUJD"]),
        (".netrc~", "machine a password c\n", ["c"]),
        (".npmrc.bak", "//r/:_password=abc\n", ["abc"]),
        (".psql_history", "create user a with password 'b c';\nselect 1;\n", ["b c"]),
        (".sqlite_history", "pragma key='abc';\n", ["abc"]),
        (".rediscli_history", "get author\nauth me abc\n", ["abc"]),
        ("rclone.conf", '[a]\npass = abc\ntoken = {"access_token":"d"}\n', ["abc", '{"access_token":"d"}']),
        ("auth.json", '{"access_token": "abc", "token_type": "Bearer", "token_uri": "https://a"}', ["abc"]),
        ("oauth_creds.json", '{"refresh_token": "abc", "expiry_date": 1}', ["abc"]),
        ("cookies.json", '[{"name": "a", "value": "b"}]', ["b"]),
        (".terraformrc", 'credentials "a" {\n  token = "abc"\n}\n', ["abc"]),
        ("wg0.conf", "[Interface]\nPrivateKey = abc=\n[Peer]\nPublicKey = d=\nPresharedKey = e=\n", ["abc=", "e="]),
        ("nginx.conf", "server {}\n", None),
        ("a.ovpn", "<auth-user-pass>\nme\nabc\n</auth-user-pass>\n", ["abc"]),
        (".htpasswd", "# users\nme:$apr1$a$b\n", ["$apr1$a$b"]),
        ("master.key", "0123456789abcdef" * 2 + "\n", ["0123456789abcdef" * 2]),
        (".vault_pass", "one-word-in-it\n", ["one-word-in-it"]),
        ("api_key.txt", "one-word-in-it\n", ["one-word-in-it"]),
        ("token.txt", "More than one word.\n", []),
        ("reset-password.txt", "https://example.com/reset\n", []),
        ("api.key", "../keys/api.pem\n", []),
        ("token", "https://hooks.example.com/T0AB/x7Kq2zW9mN4v\n", ["https://hooks.example.com/T0AB/x7Kq2zW9mN4v"]),
        ("secret", "https://me:abc@example.com/\n", ["https://me:abc@example.com/"]),
        (".vault_pass", "/one/two/three\n", ["/one/two/three"]),
        ("production.key", "one-word-in-it\n", ["one-word-in-it"]),
        ("netrc", "machine a login b password c\n", ["c"]),
        ("netrc", "In such a file the password stands in clear.\n", None),
        (".irb_history", "api_token = 'abc'\nputs token.size\n", ["abc"]),
        (".python_history", "t = get_token(size=4)\nprint('words')\nos.getenv('API_TOKEN')\n", []),
        ("appsettings.Test.json", '{"Jwt": {"Key": "0123456789abcdef"}, "TokenHours": "8"}', ["0123456789abcdef"]),
        ("web.config", '<add connectionString="Server=a;Pwd=b c;Port=1" />', ["b c"]),
        ("passwords.txt", "My passwords are in the drawer.\nSee: https://example.com\nbank: 1234\n", ["1234"]),
        ("passwords.md", "bank: abc-def-ghi\n", None),
        ("recovery-codes.txt", "Recovery codes of the door\n* 1234 5678\nabcde-fghij\n", ["1234 5678", "abcde-fghij"]),
        ("recovery-codes.md", "12345-67890\n", None),
        (".mylogin.cnf", "\0\0\0\0abc\n\0d", ["abc\n\0d"]),
        ("secret", "responsibilities\n", []),
        ("secret", "Responsibilities.\n", []),
        ("token", "MISUNDERSTANDING", []),
        ("secret.txt", "responsibilities\n", []),
        ("secret", "wordandanotherwordinit\n", ["wordandanotherwordinit"]),
        ("secret", "one-word-in-it\n", ["one-word-in-it"]),
        ("secret", "kqwzxvbtnmplrdfg\n", ["kqwzxvbtnmplrdfg"]),
        ("secret", "JBSWYEDPEHPKZPXP\n", ["JBSWYEDPEHPKZPXP"]),
        ("secret", "abcdefghabcdefgh\n", ["abcdefghabcdefgh"]),
        ("secret", "hunter2hunter2ab\n", ["hunter2hunter2ab"]),
        ("secret", "cOrrectHorseBatt\n", ["cOrrectHorseBatt"]),
        ("password", "responsibilities\n", ["responsibilities"]),
        ("door-passphrase.txt", "responsibilities\n", ["responsibilities"]),
        (".vault_pass", "responsibilities\n", ["responsibilities"]),
        ("secrets.txt", "door: responsibilities\n", ["responsibilities"]),
    ],
)
def test_what_is_cut_of_a_file(name: str, text: str, values: list[str] | None) -> None:
    found = credential_files.find_credential_file_secrets(name, text.encode())
    assert (None if found is None else [secret.value for secret in found]) == values


def test_a_plain_word_in_a_file_called_secret_is_not_cut_out_of_notes(tmp_path: Path) -> None:
    made = Protected(tmp_path / "agent", config="{}\n")
    made.write("notes/secret", "responsibilities\n")
    made.write("notes/roles.md", "# Roles\n\nEach has responsibilities of its own.\n")
    made.add()
    assert b"responsibilities" in made.body("artifacts/notes/secret")
    assert b"responsibilities" in made.body("artifacts/notes/roles.md")


def test_a_reference_to_a_variable_stays() -> None:
    assert credential_files.find_credential_file_secrets(".npmrc", b"//r/:_authToken=${NPM_TOKEN}\n") == []


@pytest.mark.parametrize(
    "name",
    [
        ".bash_history",
        "appsettings.json",
        "passwords.txt",
        "recovery-codes.txt",
        ".netrc",
        ".pgpass",
        ".envrc",
        "a.tfstate",
        "wp-config.php",
        "id_x",
        "mcp.json",
    ],
)
@pytest.mark.parametrize(
    "part",
    [
        "mysql ",
        "--user",
        "login(",
        "login(a,",
        "abcd-",
        "password = ",
        "token",
        '"token',
        "-----BEGIN PRIVATE KEY-----\nA",
        "a:",
        "password ",
        "define('A",
        " ",
    ],
)
def test_endless_lines_do_not_stop_it(name: str, part: str) -> None:
    credential_files.find_credential_file_secrets(name, part.encode() * (300_000 // len(part)))
