import { isRecord } from '../../core/is-record.ts'
import { didYouMean } from '../../core/nearest.ts'
import { unpinnedRunner } from '../../mcp/unpinned-runner.ts'
import { createRedactor, redactedStart } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { exitCodes, UsageError } from '../cli-error.ts'
import type { ParsedArgs } from '../command.ts'
import { editConfig } from '../config/change.ts'
import { checkConfig } from '../config/check-config.ts'
import { jsonProblem } from '../config/json-problem.ts'
import type { Io } from '../io.ts'
import { namesNote } from './find-servers.ts'
import { checkEntry, shownServer } from './server-entry.ts'

/** The flags of `libero mcp add`. */
interface AddValues {
  readonly transport?: 'stdio' | 'http' | 'sse'
  readonly env?: readonly string[]
  readonly header?: readonly string[]
  readonly auth?: 'oauth'
  readonly lazy?: boolean
  readonly 'bootstrap-timeout'?: string
  readonly json?: string
  readonly force?: boolean
}

/** `libero mcp add`: checks the entry, writes it into the user's config, and shows how it will run. */
export async function add({ values, words }: ParsedArgs, io: Io): Promise<number> {
  const { json, force, ...rest } = values as AddValues
  const [name, ...what] = words
  if (name === undefined) throw new UsageError('the server needs a name, as in: libero mcp add docs https://…', see)
  const entry = json === undefined ? entryOf(rest, what) : entryIn(json, rest, what)
  const { config, unset } = checkEntry(name, entry, { env: io.env })
  await editConfig(io, async (settings, path) => {
    checkConfig(settings, path)
    const servers = isRecord(settings.mcpServers) ? settings.mcpServers : {}
    if (Object.hasOwn(servers, name) && !force)
      throw new UsageError(
        `there is an MCP server "${name}" already; add --force to replace it, or choose another name`,
      )
    settings.mcpServers = { ...servers, [name]: entry }
    return true
  })
  io.out(
    `"${name}" is added. ${config.transport === 'stdio' ? 'It is started without a shell, as:' : 'It is called at:'}`,
  )
  for (const line of shownServer(entry)) io.out(`    ${line}`)
  const warning = unpinnedRunner(config)
  if (warning !== undefined) io.err(`! ${warning}`)
  for (const variable of unset)
    io.err(`! ${fullyVisible(variable)} is not set; without it, runs continue without this server`)
  io.err(`To try it: libero mcp test ${name}`)
  return exitCodes.done
}

const see = { see: 'mcp add' }

type Entry = Record<string, unknown>

function entryOf(values: Omit<AddValues, 'json' | 'force'>, what: readonly string[]): Entry {
  const { transport, env, header, auth, lazy, 'bootstrap-timeout': timeout } = values
  const [first, ...args] = what
  if (first === undefined)
    throw new UsageError('give the address of the server, or -- and the command that starts it', see)
  if (/^(?!https?:)[a-z][a-z0-9+.-]*:\/\//i.test(first))
    throw new UsageError('the address of a server begins with http:// or https://', see)
  const isAddress = transport === undefined ? /^https?:\/\//i.test(first) : transport !== 'stdio'
  if (isAddress && args.length > 0)
    throw new UsageError(`nothing may follow the address of a server, got ${shown(args[0]!)}`, see)
  return {
    ...(isAddress ? { type: transport ?? 'http', url: first } : { command: first, ...(args.length > 0 && { args }) }),
    ...(env && { env: pairs(env, /^([^=]+)=(.*)$/s, '--env', 'K=V') }),
    ...(header && { headers: pairs(header, /^([^:\s]+):\s*(.*)$/s, '--header', "'K: V'") }),
    ...(auth && { auth }),
    ...(lazy && { disclosure: 'lazy' }),
    ...(timeout !== undefined && { bootstrapTimeout: Number(timeout) }),
  }
}

/** The text may contain a key, so errors do not repeat it. */
function pairs(texts: readonly string[], pattern: RegExp, flag: string, form: string): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = pattern.exec(text) ?? []
      if (name === undefined || value === undefined) throw new UsageError(`${flag} must be of the form ${form}`, see)
      return [name, value]
    }),
  )
}

function entryIn(text: string, others: object, what: readonly string[]): Entry {
  if (what.length > 0 || Object.keys(others).length > 0)
    throw new UsageError('--json is the whole entry; leave out the words and flags beside it', see)
  const problem = jsonProblem(text)
  if (problem)
    throw new UsageError(`--json is not JSON, line ${problem.line}, column ${problem.column}: ${problem.says}`, see)
  const entry: unknown = JSON.parse(text)
  if (!isRecord(entry)) throw new UsageError('--json must be an object, as in: {"command": "my-server"}', see)
  const { name: _, ...rest } = entry
  return rest
}

const shown = (word: string): string => fullyVisible(JSON.stringify(redactedStart(createRedactor(), word, 100)))

/** `libero mcp remove`. */
export async function remove(
  name: string | undefined,
  { forget }: { readonly forget?: boolean },
  io: Io,
): Promise<number> {
  const shown = fullyVisible(name ?? '')
  await editConfig(io, async (settings) => {
    const servers = isRecord(settings.mcpServers) ? settings.mcpServers : {}
    const names = Object.keys(servers)
    if (name === undefined) throw new UsageError(`name an MCP server; ${namesNote(names)}`)
    if (!Object.hasOwn(servers, name))
      throw new UsageError(
        `there is no MCP server "${shown}" in your config.json${didYouMean(name, names) || `; ${namesNote(names)}`} (one of a project is removed from its .mcp.json)`,
      )
    const { [name]: _, ...left } = servers
    if (Object.keys(left).length > 0) settings.mcpServers = left
    else delete settings.mcpServers
    return true
  })
  io.err(`"${shown}" is removed`)
  return forget ? (await import('./login.ts')).forgetLogin(name!, io) : exitCodes.done
}
