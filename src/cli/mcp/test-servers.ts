import { systemClock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { type HookContexts, hookNames } from '../../core/hook-map.ts'
import { Hooks } from '../../core/hooks.ts'
import type { McpServerConfig } from '../../mcp/config.ts'
import type { McpConnections, McpServer } from '../../mcp/connections.ts'
import { unpinnedRunner } from '../../mcp/unpinned-runner.ts'
import { fullyVisible, visibleName, visibleText } from '../../platform/visible-text.ts'
import { exitCodes, UsageError } from '../cli-error.ts'
import type { ParsedArgs } from '../command.ts'
import type { Io } from '../io.ts'
import { jsonText, shortLine } from '../text.ts'
import { onStop } from '../until-stopped.ts'
import { connectorFor } from './connector.ts'
import { findServers, namesNote, requireServer, unopenedNote, usableServers } from './find-servers.ts'

/** The result of connecting to a server. */
export interface TestResult {
  readonly name: string
  readonly isOk: boolean
  readonly state: McpServer['state']
  readonly durationMs: number
  readonly protocolVersion?: string
  readonly tools: readonly { readonly name: string; readonly description: string }[]
  /** What was left out of its offer, and why. */
  readonly notes: readonly string[]
  readonly problem?: string
  readonly stderr?: string
  readonly warning?: string
}

interface TestValues {
  readonly mcp?: readonly string[]
  readonly cwd?: string
  readonly json?: boolean
}

/** `libero mcp test`: connects to servers, reports the result, and disconnects. */
export async function testServers({ values, words }: ParsedArgs, io: Io): Promise<number> {
  const { json, ...query } = values as TestValues
  const around = await findServers(query, io)
  const all = usableServers(around)
  if (words.length === 0) throw new UsageError(`name an MCP server, or all; ${namesNote(all.map(({ name }) => name))}`)
  const isAll = words.length === 1 && words[0] === 'all' && !all.some(({ name }) => name === 'all')
  const unusable: string[] = []
  const named = (name: string): McpServerConfig[] => {
    try {
      return [requireServer(name, around)]
    } catch (error) {
      if (words.length === 1) throw error
      unusable.push(messageOf(error)) // the others are tested nevertheless
      return []
    }
  }
  const configs = isAll ? all : [...new Set(words.flatMap(named))]
  for (const problem of unusable) io.err(`! ${fullyVisible(problem)}`)
  if (configs.length === 0) throw new UsageError(`${namesNote([])}${unopenedNote(around.pending)}`)
  const stop = onStop(io)
  try {
    const result = await connectAll(configs, io, stop.signal)
    if (stop.signal.aborted) return stop.exitCode
    if (json) io.out(jsonText({ servers: result }))
    else for (const line of result.flatMap(linesAbout)) io.out(line)
    return unusable.length === 0 && result.every(({ isOk }) => isOk) ? exitCodes.done : exitCodes.error
  } finally {
    stop.off()
  }
}

/** Connects to servers, and disconnects. */
export async function connectAll(
  configs: readonly McpServerConfig[],
  { home }: Pick<Io, 'home'>,
  stop: AbortSignal,
): Promise<TestResult[]> {
  const hooks = new Hooks<HookContexts>(hookNames, () => {})
  const durations = new Map<string, number>()
  hooks.hook('mcp:bootstrap:end', ({ name, durationMs }) => void durations.set(name, durationMs))
  const connections = await connectorFor(home, { until: () => stop })(configs, { hooks, clock: systemClock })
  try {
    return configs.map((config) => resultOf(config, connections, durations.get(config.name) ?? 0))
  } finally {
    await connections.close()
  }
}

function resultOf(config: McpServerConfig, { servers = [], tools }: McpConnections, durationMs: number): TestResult {
  const server = servers.find(({ name }) => name === config.name)!
  const { name, state, problem, protocolVersion, stderr, toolNames, notes } = server
  const isOk = state === 'ready'
  const warning = unpinnedRunner(config)
  return {
    name,
    isOk,
    state,
    durationMs: Math.round(durationMs),
    ...(protocolVersion !== undefined && { protocolVersion }),
    tools: toolNames.map((tool) => ({ name: tool, description: ownWords(tools[tool]?.spec.description, name) })),
    notes,
    ...(!isOk && { problem: problem ?? 'it gave no reason' }),
    ...(!isOk && stderr && { stderr: stderr.slice(-maxStderr) }),
    ...(warning !== undefined && { warning }),
  }
}

/** Descriptions for the model name the server, which is printed above here. */
const ownWords = (description = '', server: string): string => description.replace(`(MCP server ${server}) `, '')

const maxStderr = 4000

function linesAbout({ name, isOk, state, durationMs, ...result }: TestResult): string[] {
  const { protocolVersion = 'unknown', tools, notes, problem = '', stderr, warning } = result
  const login = state === 'needs-login' ? [`    log in with: libero mcp login ${name}`] : []
  const head = isOk
    ? `${name}: works, ${tools.length} tools, protocol ${visibleName(protocolVersion)}, ${durationMs} ms`
    : `${name}: failed after ${durationMs} ms: ${fullyVisible(problem)}`
  return [
    head,
    ...login,
    ...tools.map((tool) => `    ${visibleName(tool.name)}  ${shortLine(tool.description)}`.trimEnd()),
    ...notes.map((note) => `    ! ${fullyVisible(note)}`),
    ...(warning === undefined ? [] : [`    ! ${warning}`]),
    ...(stderr === undefined ? [] : ['    its last error output:', ...lastLines(stderr)]),
  ]
}

function lastLines(text: string): string[] {
  const lines = visibleText(text).replaceAll('\r', '').trimEnd().split('\n')
  return lines.slice(-20).map((line) => `    | ${line}`)
}
