import { resolvePosix } from '../core/execution.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { activeInChain } from './active-skills.ts'
import { matchesGlob } from './path-globs.ts'

type Gate = HookContexts['tool:gate']

/** The tools for skills themselves, which no skill can exclude. */
const skillTools: readonly string[] = ['skills_use', 'skills_read', 'skills_run_script']

/**
 * A gate for `allowed-tools` of the active skills. It refuses calls that no skill with `allowed-tools` allows, and never
 * allows anything by itself. A child is bound by its own skills and by those of its parents.
 */
export function allowedTools(run: Run): (gate: Gate) => void {
  return (gate) => {
    if (gate.block || gate.result !== undefined || skillTools.includes(gate.name)) return
    for (const { all, runningCommands: reading } of activeInChain(run)) {
      const own = gate.parentCallId === undefined ? undefined : reading.get(gate.parentCallId)
      const declaring = all.filter(({ skill }) => skill.allowedTools !== undefined && skill.name !== own?.name)
      const allowed = declaring.flatMap(({ skill }) => skill.allowedTools ?? [])
      if (declaring.length === 0 || allowed.some((entry) => allows(entry, gate, run))) continue
      gate.block = true
      const names = declaring.map(({ skill }) => `"${skill.name}"`).join(' and ')
      const said = declaring.length === 1 ? `the active skill ${names} allows` : `the active skills ${names} allow`
      gate.reason = `${said} only ${[...new Set(allowed), ...skillTools].join(', ')}; this call of ${gate.displayName} is outside of that`
      return
    }
  }
}

/** Whether an entry such as `read_file`, `Bash(git:*)` or `mcp__github__get_issue` covers a call. If in doubt, no. */
export function allows(entry: string, gate: Gate, run: { readonly host: Pick<Run['host'], 'handle'> }): boolean {
  if (entry === '*') return true
  const [, pattern] = entryParts.exec(entry.trim())?.slice(1) ?? []
  if (!isNamed(entry, gate)) return false
  if (pattern === undefined) return true
  try {
    return covers(pattern.trim(), gate, run)
  } catch {
    return false // a tool that fails to describe its call is not covered
  }
}

const entryParts = /^([^()]+)(?:\((.*)\))?$/s

/** Whether an entry names a tool, in upper or lower case, for some of its calls at least. */
export function isNamed(entry: string, tool: NamedTool): boolean {
  const [, name = ''] = entryParts.exec(entry.trim()) ?? []
  const key = name.trim().toLowerCase()
  // A server's tool may have to be searched before it can be called.
  return entry === '*' || namesOf(tool).includes(key) || (tool.name === 'tool_search' && key.startsWith('mcp_'))
}

type NamedTool = Pick<Gate, 'name' | 'displayName'> & { readonly tool?: Gate['tool'] }

/** All names of a tool, in lower case: ours, what the model calls it, and those of other agents. */
export function namesOf({ name, displayName, tool }: NamedTool): readonly string[] {
  const common = Object.keys(commonNames).filter((key) => commonNames[key]!.includes(name))
  return [name, displayName, ...mcpNames(tool?.mcp), ...common].map((one) => one.toLowerCase())
}

const mcpNames = (mcp: ToolDef['mcp']): readonly string[] =>
  mcp ? [`mcp__${mcp.server}`, `mcp__${mcp.server}__${mcp.tool}`, `mcp__${mcp.server}__*`] : []

/** Names of our tools in skills written for other agents. */
const commonNames: Readonly<Record<string, readonly string[]>> = {
  bash: ['shell'],
  bashoutput: ['shell_output'],
  killbash: ['shell_stop'],
  killshell: ['shell_stop'],
  read: ['read_file'],
  write: ['write_file'],
  edit: ['edit', 'multi_edit'],
  multiedit: ['multi_edit'],
  grep: ['grep'],
  glob: ['glob'],
  ls: ['list_files'],
  webfetch: ['web_fetch'],
  websearch: ['web_search'],
  task: ['spawn'],
  agent: ['spawn'],
  todowrite: ['todowrite', 'todoread'],
  todoread: ['todoread'],
  askuserquestion: ['ask_user'],
}

/** Whether a pattern in parentheses covers the whole call. */
function covers(
  pattern: string,
  { tool, input }: Gate,
  { host: { handle } }: { readonly host: Pick<Run['host'], 'handle'> },
): boolean {
  if (tool?.commandLine) return coversLine(pattern, tool.commandLine(input).command)
  const touches = tool?.touches?.(input) ?? []
  if (touches.length > 0) return touches.every(({ path }) => coversPath(pattern, path, handle?.cwd ?? '/'))
  const hosts = tool?.reaches?.(input) ?? []
  return hosts.length > 0 && hosts.every((host) => pattern === `domain:${host}`)
}

/** `git:*` and `git *` cover a single command that begins with it; any other pattern is the whole line. */
function coversLine(pattern: string, line: string): boolean {
  const command = line.trim()
  const [, prefix] = /^(.*?)(?::\*| \*)$/s.exec(pattern) ?? []
  if (pattern === '*') return true
  if (prefix === undefined) return pattern !== '' && command === pattern
  const begins = prefix !== '' && (command === prefix || command.startsWith(`${prefix} `))
  return begins && !couldHoldMore.test(command)
}

// Strict: refused also inside quotes. A skill can name the whole line instead.
const couldHoldMore = /[;&|`<>(){}\n\r\0\\]|\$/

function coversPath(pattern: string, path: string, cwd: string): boolean {
  const [absolute, root] = [resolvePosix(cwd, path), resolvePosix('/', cwd)]
  const inside = root === '/' ? absolute.slice(1) : absolute.slice(root.length + 1)
  const isInside = root === '/' || absolute === root || absolute.startsWith(`${root}/`)
  return isInside && matchesGlob(inside, pattern)
}
