"""Kinds of files with a secret that Lifeboat does not know, as data: path, text, the secret in it, and the expected
outcome: `cut` or `reported`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from support import disguises

PASSWORD = "pw-Tr0ub4dor3x"
TOKEN = "ghp_0aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dE3fG"
KEY = "q7Zt9Xw2Kp4Rv8LmQ1aS5dF7gH9jK3lZ"
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7q7Zt9Xw2Kp4R"
PEM = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----\n"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.m4Nb8Vc2Xz6Qw1Er5Ty9Ui3Op7As0Df4"


class Sample(NamedTuple):
    path: str
    text: str | bytes
    secret: str
    outcome: str


def samples(folder: Path) -> list[Sample]:
    """Return all samples. A database is created in `folder`."""
    disguises.in_a_database(f"the token is {TOKEN}".encode(), folder / "sample.db")
    lines = "\n".join(
        (f'"password": "{PASSWORD}"', '"version": 4')  # both are on separate lines
    )
    return [
        Sample(".env.production", f"DOOR_PASSWORD={PASSWORD}\n", PASSWORD, "cut"),
        Sample(".env.bak", f"DOOR_PASSWORD={PASSWORD}\n", PASSWORD, "cut"),
        Sample("skills/door/.env", f"DOOR_PASSWORD={PASSWORD}\n", PASSWORD, "cut"),
        Sample("conf/prod.env", f"DOOR_API_KEY={KEY}\n", KEY, "cut"),
        Sample("skills/door/config.json", f'{{"apiKey": "{KEY}"}}', KEY, "cut"),
        Sample("k8s/secret.yaml", f"kind: Secret\nstringData:\n  password: {KEY}\n", KEY, "cut"),
        Sample(".npmrc", f"//registry.npmjs.org/:_authToken={PASSWORD}\n", PASSWORD, "cut"),
        Sample(".git-credentials", f"https://me:{PASSWORD}@example.com\n", PASSWORD, "cut"),
        Sample("ssh/id_rsa", PEM.replace("PRIVATE", "OPENSSH PRIVATE"), BODY, "cut"),
        Sample("notes/pem.md", f"The key:\n\n{PEM.replace('MII', 'MIJ')}", BODY.replace("MII", "MIJ"), "reported"),
        Sample(".aws/credentials", f"[default]\naws_secret_access_key = {PASSWORD}\n", PASSWORD, "cut"),
        Sample(".kube/config", f"clusters:\n- name: x\nusers:\n- user:\n    token: {PASSWORD}\n", PASSWORD, "cut"),
        Sample("gcp/service-account.json", f'{{"type": "service_account", "private_key": "{KEY}"}}', KEY, "cut"),
        Sample("code/db.py", f"URL = 'postgres://me:{KEY[::-1]}@db.example.com/x'\n", KEY[::-1], "reported"),
        Sample("notes/jwt.md", f"I use {JWT} there.\n", JWT, "reported"),
        Sample(".envrc", f"export DOOR_PASSWORD={PASSWORD}\n", PASSWORD, "cut"),
        Sample("code/app.properties", f"spring.datasource.password={PASSWORD}\n", PASSWORD, "cut"),
        Sample(".mcp.json", f'{{"mcpServers": {{"x": {{"env": {{"DOOR_KEY": "{PASSWORD}"}}}}}}}}', PASSWORD, "cut"),
        Sample(".netrc", f"machine example.com login me password {PASSWORD}\n", PASSWORD, "cut"),
        Sample(".pgpass", f"localhost:5432:db:me:{PASSWORD}\n", PASSWORD, "cut"),
        Sample(".docker/config.json", f'{{"auths": {{"x": {{"auth": "{PASSWORD}"}}}}}}', PASSWORD, "cut"),
        Sample(".bash_history", f"ls\nmysql -u me -p{PASSWORD} db\n", PASSWORD, "cut"),
        Sample(".zsh_history", f": 1700000000:0;curl -u me:{PASSWORD} https://example.com\n", PASSWORD, "cut"),
        Sample("web/wp-config.php", f"<?php\ndefine( 'DB_PASSWORD', '{PASSWORD}' );\n", PASSWORD, "cut"),
        Sample("m2/settings.xml", f"<server><id>x</id><password>{PASSWORD}</password></server>", PASSWORD, "cut"),
        Sample("cookies.txt", f"example.com\tFALSE\t/\tTRUE\t0\tsession\t{PASSWORD}\n", PASSWORD, "cut"),
        Sample("tf/terraform.tfstate", "{" + lines.replace("\n", ",\n") + "}", PASSWORD, "cut"),
        Sample("notes/totp.md", "otpauth://totp/me?secret=JBSWY3DPEHPK3PXPJBSW\n", "JBSWY3DPEHPK3PXPJBSW", "reported"),
        Sample(
            "notes/wallet.md",
            f"private key: 0x{'4c0883a69102937d6231471b5dbb6204' * 2}\n",
            "4c0883a69102937d",
            "reported",
        ),
        Sample("notes/sentence.md", f"The password of the door is {PASSWORD}, tell him.\n", PASSWORD, "reported"),
        Sample("notes/groups.md", "The key is q7Zt 9Xw2 Kp4R v8Lm Q1aS 5dF7.\n", "q7Zt 9Xw2", "reported"),
        Sample("notes/wide.txt", f"the token is {TOKEN}\n".encode("utf-16"), TOKEN, "reported"),
        Sample("skills/door/door.db", (folder / "sample.db").read_bytes(), TOKEN, "reported"),
        Sample("rails/secrets.yml", f"production:\n  secret_key_base: {KEY}\n", KEY, "cut"),
        Sample("rails/config/master.key", f"{KEY}\n", KEY, "cut"),
        Sample(
            "net/appsettings.json",
            f'{{"ConnectionStrings": {{"Main": "Server=x;User Id=me;Password={PASSWORD};"}}}}',
            PASSWORD,
            "cut",
        ),
        Sample(".python_history", f"import door\ndoor.login('me', '{PASSWORD}')\n", PASSWORD, "cut"),
        Sample(".node_repl_history", f'login("{PASSWORD}")\n', PASSWORD, "cut"),
        Sample("passwords.txt", f"These are mine\nbank: {PASSWORD}\n", PASSWORD, "cut"),
        Sample("door-recovery-codes.txt", "Keep these\n1. 12345-67890\n2. abcde-fghij\n", "12345-67890", "cut"),
        Sample(".config/op/config", f'{{"accounts": [{{"accountKey": "{KEY}"}}]}}', KEY, "cut"),
        Sample(".mylogin.cnf", f"\0\0\0\0{KEY}".encode(), KEY, "cut"),
        Sample("NETRC", f"machine example.com login me password {PASSWORD}\n", PASSWORD, "cut"),
    ]
