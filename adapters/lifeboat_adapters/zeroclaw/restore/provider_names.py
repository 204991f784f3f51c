"""Convert ZeroClaw's names of model providers: early releases have many names, later ones a type and an alias."""

from __future__ import annotations

DEFAULT = "default"

# fmt: off
_SYNONYMS = {
    "azure_openai": "azure", "azure-openai": "azure", "grok": "xai", "google": "gemini", "google-gemini": "gemini",
    "together-ai": "together", "fireworks-ai": "fireworks", "vercel-ai": "vercel", "cloudflare-ai": "cloudflare",
    "nvidia-nim": "nvidia", "aws-bedrock": "bedrock", "lm-studio": "lmstudio", "lite-llm": "litellm",
    "hf": "huggingface", "github-copilot": "copilot", "ovhcloud": "ovh", "opencode-zen": "opencode",
    "llama.cpp": "llamacpp", "gemini-cli": "gemini_cli", "kimi": "moonshot", "dashscope": "qwen", "zhipu": "glm",
    "z.ai": "zai", "volcengine": "doubao", "github-models": "github_models", "lambda-ai": "lambda_ai",
}
_NAMED = {
    "anthropic-custom": ("anthropic", "custom"), "openai-codex": ("openai", "codex"),
    "openai_codex": ("openai", "codex"), "opencode-go": ("opencode", "go"), "claude-code": ("anthropic", "claude-code"),
}
# fmt: on


def provider_name(named: str) -> tuple[str, str, str | None]:
    """Return the type and the alias of a provider that an early release names, and the address that is a part of its
    name."""
    kind, _, address = named.partition(":")
    address = address if address.startswith(("http://", "https://")) else ""
    kind = kind if address else named
    type_, alias = _NAMED.get(kind, (_SYNONYMS.get(kind, kind), DEFAULT))
    return type_, alias, address or None
