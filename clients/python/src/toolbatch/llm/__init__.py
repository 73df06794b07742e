"""Tools for models: definitions as an API takes them, and answers to a model's tool calls. No SDK is needed.

`toolbatch.llm.anthropic` speaks the Messages API, `toolbatch.llm.openai` Chat Completions.
"""

from toolbatch.llm import anthropic, openai

__all__ = ["anthropic", "openai"]
