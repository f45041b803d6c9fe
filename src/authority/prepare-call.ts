import { readlink, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { posix } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { approvalKeyOf } from '../core/approval-key.ts'
import type { CommandLine, Effect, ToolOrigin } from '../core/authority.ts'
import { show } from '../core/behavior.ts'
import { isThenable } from '../core/cancellation.ts'
import { CodedError, messageOf } from '../core/errors.ts'
import type { SandboxSupport } from '../core/execution.ts'
import { type FileAccess, type FileTouch, originOf, type ToolDef } from '../core/tool.ts'
import { digestOfJson } from '../platform/canonical-json.ts'
import type { FileLocation } from '../platform/files-of.ts'
import { hostIn } from '../platform/host-name.ts'
import { isShellGlob } from '../platform/wildcard.ts'
import type { ShellReading } from '../shell/reading.ts'
import { shellFacts } from '../shell/shell-facts.ts'
import { type WorkspacePath, workspacePath } from '../shell/shell-location.ts'
import { whyNotStrict } from '../shell/strict-table.ts'
import { type EffectFact, type JudgedCall, type ShellFacts, strictness } from './judged-call.ts'
import { shellKey } from './shell-key.ts'
import { whyNotPlainFiles } from './strict-files.ts'

/** The workspace that calls act on. */
export interface Workspace {
  /** Absolute. */
  readonly root: string
  readonly realRoot?: () => Promise<string>
  readonly isTrusted: boolean
  /** The execution context. Absent if the agent has none. */
  readonly location?: FileLocation
  /** The sandboxes of the execution context. Default: none. */
  readonly sandbox?: () => Promise<SandboxSupport>
}

/** A call as the model requested it. */
export interface AskedCall {
  readonly tool: ToolDef
  readonly input: Readonly<Record<string, unknown>>
  readonly effects: readonly Effect[]
}

/** Collects all facts a decision may depend on. Throws a `CodedError` if the tool cannot describe its call. */
export async function prepareCall(
  { tool, input, effects }: AskedCall,
  workspace: Workspace,
  readShell: (text: string) => Promise<ShellReading>,
): Promise<JudgedCall> {
  const { name } = tool.spec
  const origin = originOf(tool)
  const line = commandLineOf(tool, input)
  const cwd = posix.resolve(workspace.location?.handle.cwd ?? workspace.root, line?.cwd ?? '.')
  const where = { root: workspace.root, cwd, home: homedir(), isTrusted: workspace.isTrusted }
  const reading = line && (await readShell(line.command))
  // Each step blocks for a while on a huge line, so other work runs in between.
  const isHuge = line !== undefined && line.command.length > hugeLine
  if (isHuge) await setImmediate()
  const shell = reading && shellFacts(reading, where)
  if (isHuge) await setImmediate()
  const key = reading ? shellKey(reading, where, line.command) : keyOf(tool, input)
  return Object.freeze({
    tool: name,
    origin,
    // A project or server cannot exempt its own tool, nor can a tool whose definition changed.
    gated: tool.gated !== false || isForeign(origin) || origin.isChanged === true,
    input,
    key,
    effects: await effectFacts(tool, input, key, new Set([...effects, ...undeclared(tool, origin)]), workspace, shell),
    ...(shell && { shell, cwd, strict: await strictnessOf(shell, cwd, workspace) }),
    ...(shell && cwd !== posix.resolve(workspace.root) && { startsElsewhere: true as const }),
    ...(line?.isOutside === true && { isOutside: true as const }),
    ...(line?.isBackground === true && { isBackground: true as const }),
    ...(origin.isChanged && { changedDescription: tool.spec.description }),
    digest: digestOfJson({ tool: name, origin, input, cwd, place: workspace.location?.execution.type ?? '' }),
  })
}

const hugeLine = 65_536

/** Whether the line is safe without a sandbox. If one hides the user's files, only the line's words need judging. */
async function strictnessOf(
  shell: ShellFacts,
  cwd: string,
  workspace: Workspace,
): Promise<NonNullable<JudgedCall['strict']>> {
  const { root, realRoot, location, sandbox } = workspace
  const why = whyNotStrict(shell)
  const isConfined = why === undefined && ((await sandbox?.())?.profiles ?? []).length > 0
  if (why !== undefined || isConfined) return strictness(why)
  if (location?.execution.type !== 'process') return strictness('its files cannot be examined from here')
  return strictness(await whyNotPlainFiles(shell.commands[0]!, { cwd, realRoot: (await realRoot?.()) ?? root }))
}

/** Whether a tool comes from a project or a server. */
export const isForeign = ({ layer }: ToolOrigin): boolean => layer === 'project' || layer === 'mcp'

/** Effects added to those a foreign tool declares, because its declaration is not trusted. */
function undeclared({ mcp }: ToolDef, { layer }: ToolOrigin): Effect[] {
  if (mcp) return [`mcp:${mcp.server}.${mcp.tool}`]
  return layer === 'project' ? ['unknown'] : []
}

/** For tools that derive no key, a grant covers the same arguments only. */
function keyOf(tool: ToolDef, input: AskedCall['input']): string {
  return tool.deriveApprovalKey ? approvalKeyOf(tool, input) : `sha256:${digestOfJson(input)}`
}

async function effectFacts(
  tool: ToolDef,
  input: AskedCall['input'],
  key: string,
  effects: ReadonlySet<Effect>,
  workspace: Workspace,
  shell: ShellFacts | undefined,
): Promise<EffectFact[]> {
  const touched = await fileFacts(touchesOf(tool, input), workspace)
  const facts = [...touched]
  for (const effect of effects) {
    if (effect === 'exec' && shell) facts.push({ effect }, ...(await shellEffects(shell, workspace)))
    else if (effect === 'spawn' || effect === 'schedule.write') facts.push({ effect, target: key })
    else if (effect === 'net') facts.push(...netFacts(tool, input))
    // Without declared paths the tool may touch any file.
    else if (effect === 'fs.read' || effect === 'fs.write') {
      if (!touched.some((fact) => fact.effect === effect)) facts.push({ effect, isOutside: true })
    } else facts.push({ effect })
  }
  return facts
}

/** The effects of the commands of a line, including those through links. */
async function shellEffects({ commands }: ShellFacts, workspace: Workspace): Promise<EffectFact[]> {
  const facts = commands.flatMap((command) => command.effects)
  const paths = facts.filter(
    ({ effect, target }) => target !== undefined && /^fs\./.test(effect) && !isShellGlob(target),
  )
  const linked: EffectFact[] = []
  for (const { effect, target = '.', isDeep } of paths.slice(0, maxResolvedPaths)) {
    const absolute = posix.resolve(workspace.root, target)
    const real = await realPath(absolute, workspace)
    const isElsewhere = real && real.target !== workspacePath(workspace.root, absolute).target
    if (isElsewhere) linked.push({ effect, ...real, isLinked: true, ...(isDeep && { isDeep }) })
  }
  return [...facts, ...linked]
}

/** Links are resolved for this many paths of a line; the others are judged by name. */
const maxResolvedPaths = 32

function netFacts(tool: ToolDef, input: AskedCall['input']): EffectFact[] {
  const hosts = hostsOf(tool, input)
  return hosts.length > 0 ? hosts.map((host) => ({ effect: 'net', target: hostIn(host) })) : [{ effect: 'net' }]
}

/** Each path as written and, if a link leads elsewhere, its real path. */
async function fileFacts(touches: readonly FileTouch[], workspace: Workspace): Promise<EffectFact[]> {
  const facts: EffectFact[] = []
  for (const { path, access } of touches) {
    const absolute = posix.resolve(workspace.location?.handle.cwd ?? workspace.root, plainPath(path))
    const asked = workspacePath(workspace.root, absolute)
    const real = await realPath(absolute, workspace)
    const targets = real && real.target !== asked.target ? [asked, real] : [asked]
    for (const at of targets) {
      if (access !== 'write') facts.push({ effect: 'fs.read', ...at, ...(access === 'search' && { isDeep: true }) })
      if (access === 'write' || access === 'edit') facts.push({ effect: 'fs.write', ...at })
    }
  }
  return facts
}

/** Expands `~` and `file:` URLs as the local execution context does. Other contexts do less. */
function plainPath(path: string): string {
  if (/^~(?=$|\/)/.test(path)) return posix.join(homedir(), path.slice(1))
  if (!/^file:\/\//i.test(path)) return path
  try {
    return fileURLToPath(path)
  } catch {
    return '/' // no tool can open it, and it is outside of every workspace
  }
}

/** The real path. For a path that does not exist, that of its nearest existing folder, plus the rest. */
async function realPath(absolute: string, { root, realRoot, location }: Workspace): Promise<WorkspacePath | undefined> {
  const follow = location && linksOf(location)
  if (!follow) return undefined
  for (let folder = absolute; ; folder = posix.dirname(folder)) {
    const real = await follow(folder).catch(() => undefined)
    if (real !== undefined)
      return workspacePath((await realRoot?.()) ?? root, posix.join(real, posix.relative(folder, absolute)))
    if (folder === posix.dirname(folder)) return undefined
  }
}

/** Resolves links in the execution context. On this machine not limited to the roots of file tools: commands are not either. */
export function linksOf({ execution, handle }: FileLocation): ((path: string) => Promise<string>) | undefined {
  if (execution.type === 'process') return realOf
  const { stat } = execution
  return stat && (async (path) => (await stat.call(execution, handle, path)).path)
}

/** Resolves a dangling link too: a write through it creates its target. */
async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const link = await readlink(path).catch(() => undefined)
    if (link === undefined) throw error
    return posix.resolve(posix.dirname(path), link)
  }
}

type Input = Readonly<Record<string, unknown>>

/** The shell line a call would run. This and the next two throw a `CodedError` if the tool returns something invalid. */
function commandLineOf(tool: ToolDef, input: Input): CommandLine | undefined {
  return declaredBy(tool, 'commandLine', input, isCommandLine) as CommandLine | undefined
}

/** The files a call reads or writes. */
export function touchesOf(tool: ToolDef, input: Input): readonly FileTouch[] {
  return (declaredBy(tool, 'touches', input, areTouches) ?? []) as readonly FileTouch[]
}

function hostsOf(tool: ToolDef, input: Input): readonly string[] {
  return (declaredBy(tool, 'reaches', input, areHosts) ?? []) as readonly string[]
}

function declaredBy(
  tool: ToolDef,
  field: 'commandLine' | 'touches' | 'reaches',
  input: Input,
  isRight: (value: unknown) => boolean,
): unknown {
  const failed = (why: string): CodedError =>
    new CodedError(
      'ToolTerminal/ToolFactsInvalid',
      `${field} of ${tool.spec.name} failed, so it is not known what its call does: ${why}`,
    )
  let value: unknown
  try {
    value = tool[field]?.(input)
  } catch (error) {
    throw failed(messageOf(error))
  }
  if (isThenable(value)) value.then(undefined, () => {}) // refused below; its rejection must not go unhandled
  if (value !== undefined && !isRight(value)) throw failed(`it gave ${show(value)}`)
  return value
}

function isCommandLine(value: unknown): boolean {
  const { command, cwd = '', isOutside = false, isBackground = false } = (value ?? {}) as Partial<CommandLine>
  return isText(command) && isText(cwd) && [isOutside, isBackground].every((one) => typeof one === 'boolean')
}

const areTouches = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => isText(one?.path) && accesses.includes(one.access))

const accesses: readonly unknown[] = ['read', 'edit', 'write', 'search'] satisfies FileAccess[]

const areHosts = (value: unknown): boolean => Array.isArray(value) && value.every(isText)

const isText = (value: unknown): value is string => typeof value === 'string'
