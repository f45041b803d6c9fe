"""Libero as an installed agent of Harbor: `harbor run --agent-import-path libero_agent:LiberoAgent`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from libero_run import Limits, keys_of, read_outcome_file, run_command, split_model

# Where Harbor keeps the logs of an agent in the container; it copies them to `logs_dir`.
LOGS = "/logs/agent"
INSTALLED = "/installed-agent"


class LiberoAgent(BaseInstalledAgent):
    def __init__(
        self,
        *args,
        package: str = "libero@latest",
        max_turns: int | str = 200,
        max_cost: float | str | None = None,
        thinking: str | None = None,
        **kwargs,
    ):
        super().__init__(*args, **kwargs)
        if not self.model_name:
            raise ValueError("name a model: --model anthropic/claude-sonnet-4-5")
        split_model(self.model_name)
        self._package = package
        self._limits = Limits(int(max_turns), None if max_cost is None else float(max_cost), thinking)

    @staticmethod
    def name() -> str:
        return "libero"

    def get_version_command(self) -> str | None:
        return "libero --version"

    def parse_version(self, stdout: str) -> str:
        return stdout.strip().removeprefix("libero ")

    async def install(self, environment: BaseEnvironment) -> None:
        package = self._package
        await self.exec_as_root(environment, command=f"mkdir -p {INSTALLED}")
        if Path(package).is_file():
            target = f"{INSTALLED}/{Path(package).name}"
            await environment.upload_file(Path(package).resolve(), target)
            package = target
        await environment.upload_file(Path(__file__).parent / "install.sh", f"{INSTALLED}/install.sh")
        await self.exec_as_root(environment, command=f"sh {INSTALLED}/install.sh {shlex.quote(package)}")

    @with_prompt_template
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        keys = keys_of(self.model_name, {**os.environ, **getattr(self, "_extra_env", {})})
        env = {**keys, "LIBERO_HOME": f"{LOGS}/home"}
        await self.exec_as_agent(environment, command=run_command(instruction, self.model_name, self._limits, LOGS), env=env)

    def populate_context_post_run(self, context: AgentContext) -> None:
        outcome = read_outcome_file(self.logs_dir / "libero.jsonl")
        context.n_input_tokens = outcome.input_tokens
        context.n_output_tokens = outcome.output_tokens
        context.n_cache_tokens = outcome.cache_tokens
        context.cost_usd = outcome.cost
        context.metadata = {
            "status": outcome.status,
            "stop": outcome.stop,
            "error": outcome.error,
            "model_calls": outcome.model_calls,
            "tool_calls": outcome.tool_calls,
        }
