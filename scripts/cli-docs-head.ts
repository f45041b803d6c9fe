import { exitCodes } from '../src/cli/cli-error.ts'

const meanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'It is done',
  error: 'It failed; one sentence on stderr says why, and what to do next',
  usage: 'It was called in a way that means nothing, or a settings file cannot be used',
  permission: 'Something has to be allowed, and nobody could be asked; the session waits for the answer',
  budget: 'A limit was reached (`--max-turns`, `--max-cost`)',
  interrupted: 'It was interrupted with Ctrl-C; the session is kept',
  terminated: 'It was ended by SIGTERM; the session is kept',
  closed: 'Whoever read its output went away',
  hungUp: 'Its terminal was closed; the session is kept',
}

const codes = Object.entries(exitCodes)
  .sort(([, a], [, b]) => a - b)
  .map(([name, code]) => `| ${code} | ${meanings[name as keyof typeof exitCodes]} |`)

/** The part of docs/cli.md that is written by hand. */
export const head = `# The command line

<!-- Made by scripts/cli-docs.ts from the commands themselves; change those, or the head in scripts/cli-docs-head.ts. -->

\`\`\`
libero "find the failing test and fix it"
\`\`\`

works on a task in this folder, and asks before it does harm. In the repository it is \`npm start -- "…"\`. It needs a model: \`libero login\`, a key in the environment, or Ollama or LM Studio on this machine. Without any it ends with an error; only at a terminal it offers the \`offline\` model, a set of rules that needs neither a key nor a network and that scripts get with \`--provider offline\`. \`libero doctor\` says what works here, and every command has \`--help\`.

## Streams

- **stdout** gets the answer and nothing else, so that it can be piped: \`libero -q "…" > answer.md\`. A pipe gets what the model says turn by turn, when a turn is complete: of an attempt that broke off, and of a turn that failed, it gets nothing. With \`--json\` or \`--events\` it gets JSON lines.
- **stderr** gets everything about the answer: tools, diffs, questions, cost, notices, errors.
- **stdin**, where it is not a terminal, is added to the task: \`git diff | libero "review this"\`.
- Colours and moving lines appear on a terminal only. What comes from models, tools and files cannot move the cursor: control characters are shown, not sent.

## Exit codes

| code | meaning |
|---|---|
${codes.join('\n')}

An error is one sentence on stderr, with the next step. \`libero schedules run\` and \`libero agents watch\` go on until Ctrl-C: for them that is the end that was meant, and the code is 0.

## Files

| file | what it is |
|---|---|
| \`~/.libero/config.json\` | your settings; \`libero config\` shows and changes them |
| \`~/.libero/authority.json\` | further rules about what may be done; see [the authority](authority.md) |
| \`~/.libero/credentials.json\` | keys and logins, for you alone; \`libero login\` |
| \`~/.libero/trust.json\` | which projects you trust |
| \`~/.libero/sessions.db\` | your sessions, agents and schedules; see [sessions](sessions.md) |
| \`~/.libero/audit\` | what agents asked for and who decided about it; \`libero audit\` |
| \`~/.libero/agents/*.json\` | your own definitions of agents; \`libero agents definitions\` |
| \`~/.libero/AGENTS.md\` | your own instructions, in every run |
| \`~/.libero/skills\`, \`~/.agents/skills\` | your [skills](skills.md) |
| \`~/.libero/tools\` | your [tools in files](layers.md) |
| \`~/.libero/mcp/credentials.json\` | logins to [MCP servers](mcp.md), for you alone; \`libero mcp login\` |
| \`~/.libero/mcp/memory.json\` | what is known about MCP servers: their protocol, and the definitions of their tools that you have seen |
| \`~/.cache/libero\` | compiled code, so that the next start is faster; may be deleted |
| \`.libero/\`, \`.agents/skills\`, \`.mcp.json\`, \`AGENTS.md\` in a project | its settings, tools, skills, servers and instructions; nothing of it is read before you trust it |

With \`LIBERO_HOME\` all of your own files are in another folder.`
