import { exitCodes } from '../src/cli/cli-error.ts'

const meanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'Success',
  error: 'Failure; stderr says why, and what to do next',
  usage: 'Usage error: invalid arguments, or a settings file that cannot be used',
  permission: 'A call needs an approval, and there was no person to ask; the session waits for the answer',
  budget: 'A limit was reached (`--max-turns`, `--max-cost`)',
  interrupted: 'Interrupted with Ctrl-C; the session is kept',
  terminated: 'Ended by SIGTERM; the session is kept',
  closed: 'The reader of its output closed the pipe',
  hungUp: 'The terminal was closed; the session is kept',
}

const codes = Object.entries(exitCodes)
  .sort(([, a], [, b]) => a - b)
  .map(([name, code]) => `| ${code} | ${meanings[name as keyof typeof exitCodes]} |`)

/** The hand-written part of docs/cli.md. */
export const head = `# The command line

<!-- Made by scripts/cli-docs.ts from the commands themselves; change those, or the head in scripts/cli-docs-head.ts. -->

\`\`\`
libero "find the failing test and fix it"
\`\`\`

works on a task in this folder, and asks before risky actions. In the repository, run it with \`npm start -- "…"\`. It needs a model: \`libero login\`, a key in the environment, or Ollama or LM Studio on this machine. Without a model it ends with an error; at a terminal it offers the \`offline\` model, a set of rules that needs neither a key nor a network and that scripts get with \`--provider offline\`. \`libero doctor\` checks what works on this machine, and every command has \`--help\`.

## Streams

- **stdout** gets only the answer, so that it can be piped: \`libero -q "…" > answer.md\`. A pipe gets the model's text turn by turn, when a turn is complete; it gets nothing of an attempt that broke off or of a turn that failed. With \`--json\` or \`--events\` it gets JSON lines.
- **stderr** gets everything else: tools, diffs, questions, cost, notices, errors.
- **stdin**, if it is not a terminal, is added to the task: \`git diff | libero "review this"\`.
- Colours and live lines appear only on a terminal. Text from models, tools and files cannot move the cursor or hide words: control characters are made visible, and so are bidi controls, tags, and zero-width characters and variation selectors where writing does not need them (in emoji, Persian or Hindi it does).

## Exit codes

| code | meaning |
|---|---|
${codes.join('\n')}

An error is one message on stderr, with the next step. \`libero schedules run\`, \`libero serve\` and \`libero agents watch\` run until Ctrl-C, which is a success for them: the code is 0.

## Files

| file | what it is |
|---|---|
| \`~/.libero/config.json\` | your settings; \`libero config\` shows and changes them |
| \`~/.libero/authority.json\` | further rules about tool calls; see [the authority](authority.md) |
| \`~/.libero/credentials.json\` | keys and logins, readable only by you; \`libero login\` |
| \`~/.libero/trust.json\` | which projects you trust |
| \`~/.libero/server-token\` | the token for clients of \`libero serve\`, readable only by you; delete it to get another one |
| \`~/.libero/sessions.db\` | your sessions, agents and schedules; see [sessions](sessions.md) |
| \`~/.libero/grants.json\` | approvals that are kept for a session or a project; \`libero grants\` lists and revokes them |
| \`~/.libero/used-answers\` | which approvals were used, so that none counts twice; deleted with its session |
| \`~/.libero/audit\` | the tool calls of agents and who decided about them; \`libero audit\` |
| \`~/.libero/agents/*.json\` | your own agent definitions; \`libero agents definitions\` |
| \`~/.libero/AGENTS.md\` | your own instructions, in every run |
| \`~/.libero/skills\`, \`~/.agents/skills\` | your [skills](skills.md) |
| \`~/.libero/commands/*.md\` | your own [commands](terminal.md#own-commands) of the terminal |
| \`~/.libero/tools\` | your [tools in files](layers.md) |
| \`~/.libero/mcp/credentials.json\` | logins to [MCP servers](mcp.md), readable only by you; \`libero mcp login\` |
| \`~/.libero/mcp/memory.json\` | stored facts about MCP servers: their protocol, and the tool definitions that you have seen |
| \`~/.libero/last-prune\` | when sessions were last deleted by the setting \`retention\` |
| \`~/.cache/libero\` | compiled code for a faster start; may be deleted |
| \`.libero/\`, \`.agents/skills\`, \`.mcp.json\`, \`AGENTS.md\` in a project | its settings, tools, skills, servers and instructions; none of it is read before you trust the project |

\`LIBERO_HOME\` moves all of your own files to another folder.

## Inside a command

1. \`bin/libero.js\` turns on the compile cache and loads \`dist/cli/main.js\` if it was built, else \`cli/main.ts\`, which passes the process as an \`Io\` (\`cli/io.ts\`); nothing below reads \`process\`.
2. \`cli/libero.ts\` finds the command in \`cli/commands.ts\`, loads only that one, parses its flags (\`cli/parse.ts\`), and turns an error into a sentence and an exit code (\`cli/explain-failure.ts\`). Words that name no command are a task for \`run\`.
3. \`cli/run/run-task.ts\` reads the task and opens a screen; \`cli/run/open-agent.ts\` adds a model (\`cli/models/choose-model.ts\`) and a session to what \`cli/assembly/assemble.ts\` made of flags and settings, and calls \`createAgent\`. Every command that runs an agent goes through \`assemble\`: the project if it is trusted, settings, rules, execution, servers, skills.
4. The screen (\`tui/one-shot/screen.ts\`) follows the agent's events; questions go to \`tui/dialogs/person.ts\`, which has one dialog for each kind.
5. With \`--events\` or \`--json\` there is no screen: \`rpc/event-server.ts\` writes events as they are, \`rpc/zot-projection.ts\` makes zot's frames. Both write through \`rpc/write-lines.ts\`, which makes the agent wait for a slow reader.`
