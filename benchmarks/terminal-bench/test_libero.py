"""Tests of what needs neither Harbor nor Docker: python3 -m unittest, in this folder."""

import asyncio
import json
import shlex
import sys
import tempfile
import types
import unittest
from pathlib import Path

from libero_run import Limits, keys_of, read_outcome, run_command, split_model


class Commands(unittest.TestCase):
    def test_an_instruction_is_one_word_for_the_shell_whatever_is_in_it(self):
        hostile = "it's $(rm -rf /); `id` \"x\"\n--yolo"
        line = run_command(hostile, "openrouter/meta/llama", Limits(max_turns=7, max_cost=1.5, thinking="low"), "/logs/agent")
        words = shlex.split(line)
        self.assertEqual(words[words.index("--prompt") + 1], hostile)
        self.assertEqual(words[words.index("--model") + 1], "meta/llama")
        self.assertEqual(words[words.index("--provider") + 1], "openrouter")
        for flag, value in (("--max-turns", "7"), ("--max-cost", "1.5"), ("--thinking", "low"), ("--sandbox", "off")):
            self.assertEqual(words[words.index(flag) + 1], value)

    def test_limits_that_make_no_sense_are_refused(self):
        for wrong in ({"max_turns": 0}, {"max_cost": 0}, {"thinking": "lots"}):
            with self.assertRaises(ValueError):
                Limits(**wrong)

    def test_a_model_names_its_provider(self):
        self.assertEqual(split_model("gemini/gemini-3-pro"), ("google", "gemini-3-pro"))
        with self.assertRaisesRegex(ValueError, "provider/model"):
            split_model("claude")

    def test_the_container_gets_the_keys_of_that_provider_alone(self):
        host = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "AWS_SECRET_ACCESS_KEY": "s"}
        self.assertEqual(keys_of("anthropic/x", host), {"ANTHROPIC_API_KEY": "a"})


class Logs(unittest.TestCase):
    def test_usage_is_added_up_and_cut_lines_are_skipped(self):
        def entry(**fields):
            return json.dumps({"durable": True, "seq": 1, "entry": fields})

        lines = [
            '{"type":"hello","version":"0.1.0"}',
            entry(type="turn", turn={"role": "user", "content": []}),
            entry(type="turn", turn={"role": "assistant", "usage": {"input": 10, "output": 5, "cacheRead": 90, "cost": 0.25}}),
            entry(type="call_result", callId="1"),
            entry(type="usage", cause="compaction", usage={"input": 7, "output": 1, "cost": 0.5}),
            entry(type="run_ended", status="error", stop="error", error={"name": "X", "message": "overloaded"}),
            '{"durable":true,"entry":{"type":"turn","turn":{"usage":{"inp',
            "[]",
        ]
        outcome = read_outcome(lines)
        self.assertEqual((outcome.input_tokens, outcome.output_tokens, outcome.cache_tokens), (107, 6, 90))
        self.assertEqual((outcome.cost, outcome.model_calls, outcome.tool_calls), (0.75, 2, 1))
        self.assertEqual((outcome.status, outcome.error, outcome.version), ("error", "overloaded", "0.1.0"))


def stand_in_for_harbor():
    """The parts of Harbor 0.19 that the adapter uses, with their signatures."""

    class BaseInstalledAgent:
        def __init__(self, logs_dir, prompt_template_path=None, version=None, extra_env=None, model_name=None):
            self.logs_dir, self.model_name, self._extra_env = Path(logs_dir), model_name, extra_env or {}

        async def exec_as_root(self, environment, command, env=None, cwd=None, timeout_sec=None):
            return await environment.exec(command=command, user="root", env=env)

        async def exec_as_agent(self, environment, command, env=None, cwd=None, timeout_sec=None):
            return await environment.exec(command=command, user=None, env=env)

    modules = {
        "harbor.agents.installed.base": {"BaseInstalledAgent": BaseInstalledAgent, "with_prompt_template": lambda run: run},
        "harbor.environments.base": {"BaseEnvironment": object},
        "harbor.models.agent.context": {"AgentContext": types.SimpleNamespace},
    }
    for name, members in modules.items():
        parts = name.split(".")
        for i in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
        for member, value in members.items():
            setattr(sys.modules[name], member, value)


class Adapter(unittest.TestCase):
    def test_it_installs_runs_and_reports(self):
        stand_in_for_harbor()
        from libero_agent import LiberoAgent

        done = []

        class Environment:
            async def exec(self, command, user=None, env=None):
                done.append((user, command, env))

            async def upload_file(self, source_path, target_path):
                done.append(("upload", Path(source_path).name, target_path))

        with tempfile.TemporaryDirectory() as folder:
            tarball = Path(folder) / "libero-0.1.0.tgz"
            tarball.write_bytes(b"")
            extra = {"ANTHROPIC_API_KEY": "k"}
            agent = LiberoAgent(logs_dir=folder, model_name="anthropic/m", package=str(tarball), max_turns="5", extra_env=extra)
            asyncio.run(agent.install(Environment()))
            self.assertIn(("upload", "install.sh", "/installed-agent/install.sh"), done)
            self.assertEqual(done[-1][1], "sh /installed-agent/install.sh /installed-agent/libero-0.1.0.tgz")
            asyncio.run(agent.run("Do it.", Environment(), None))
            user, command, env = done[-1]
            self.assertIn("--max-turns 5", command)
            self.assertEqual(env["ANTHROPIC_API_KEY"], "k")
            log = {"durable": True, "entry": {"type": "turn", "turn": {"usage": {"input": 3, "output": 4}}}}
            (Path(folder) / "libero.jsonl").write_text(json.dumps(log) + "\n")
            context = types.SimpleNamespace()
            agent.populate_context_post_run(context)
            self.assertEqual((context.n_input_tokens, context.n_output_tokens, context.cost_usd), (3, 4, None))
            with self.assertRaisesRegex(ValueError, "name a model"):
                LiberoAgent(logs_dir=folder)


if __name__ == "__main__":
    unittest.main()
