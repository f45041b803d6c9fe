import { isRecord } from '../../core/is-record.ts'
import { createRedactor } from '../../platform/redact.ts'
import { Problem } from '../../server/problem.ts'
import type { ServerAbout } from '../../server/server-options.ts'
import { CliError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import { loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'

/** Facts about this machine for clients, as the commands of the same names print them. Secrets are in none of them. */
export function aboutHere(
  flags: RunValues,
  { io: whole, cwd }: { readonly io: Io; readonly cwd: string },
): ServerAbout {
  const io: Io = Object.create(whole, { cwd: { value: cwd } })
  const { preset, profile, mcp } = flags
  /** The last net: what looks like a secret, and the values of variables that are named like one. */
  const redacted = <T>(value: T): T => createRedactor({ env: io.env }).json(value)

  async function settings(): Promise<unknown> {
    const { listSettings } = await import('../config/show.ts')
    const { settings: all, warnings } = await listSettings(io)
    const shown = all.map(({ key, value = null, from }) => [
      key,
      { value: key === 'mcpServers' ? shownServers(value) : value, from },
    ])
    return redacted({ settings: Object.fromEntries(shown), warnings })
  }

  return {
    async models() {
      const { listModels, usableProviders } = await import('../models/model-list.ts')
      const { config } = await loadConfig({ home: io.home })
      const names = await usableProviders(config, io)
      const lists = await Promise.all(names.map((name) => listModels(name, config, io).catch(() => [])))
      return lists.flat()
    },
    async tools() {
      const { listTools } = await import('../tools/list-tools.ts')
      return (await listTools({ ...(preset && { preset }), ...(profile && { profile }) }, io)).tools
    },
    async mcp() {
      const { listServers } = await import('../mcp/list.ts')
      const { servers } = await listServers(mcp ? { mcp } : {}, io)
      return redacted(servers.map((one) => ({ ...one, ...('entry' in one && { entry: shownServer(one.entry) }) })))
    },
    async skills() {
      const { findSkills } = await import('../skills/skills.ts')
      return (await findSkills({}, io)).skills
    },
    settings,
    async changeSettings(changes) {
      const { changeSettings } = await import('../config/change.ts')
      const { namedSetting } = await import('../config/settings.ts')
      await asProblem(async () => {
        const named = Object.entries(changes).map(([name, value]) => ({ setting: namedSetting(name), value }))
        for (const { setting, value } of named) refuseMasked(setting.key, value)
        await changeSettings(named, io)
      })
      return settings()
    },
    async explain({ tool, input: { command } }) {
      if (tool !== 'shell' || typeof command !== 'string')
        throw new Problem(422, 'not_explained', 'Only calls of the tool "shell" with a command are explained')
      const { explainHere } = await import('../policy/explain-here.ts')
      return asProblem(async () => (await explainHere(command, io, rulesOf(flags))).explanation)
    },
    async audit({ limit, session }) {
      const { readAudit } = await import('../audit/audit.ts')
      const { auditFolder } = await import('../audit/open-audit.ts')
      const records = await asProblem(() => readAudit(auditFolder(io), { session }))
      return redacted(records.slice(-limit).reverse())
    },
  }
}

/** What the flags say about decisions, as for an agent. */
function rulesOf({ yolo, mode, profile, preset = profile, allow, deny }: RunValues) {
  const launch = yolo ? 'yolo' : (mode ?? (preset === 'plan' ? preset : undefined))
  return { ...(launch && { mode: launch }), ...(allow && { allow }), ...(deny && { deny }) }
}

/** The sentences of the command line are for clients too. */
export async function asProblem<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CliError) throw new Problem(422, 'refused', error.message)
    throw error
  }
}

const shownServers = (servers: unknown): unknown =>
  isRecord(servers)
    ? Object.fromEntries(Object.entries(servers).map(([name, entry]) => [name, shownServer(entry)]))
    : servers

/** Fields of a server's entry that cannot hold a secret, or are masked already. */
const shownFields: ReadonlySet<string> = new Set([
  ...['type', 'transport', 'command', 'cwd', 'env', 'headers', 'url', 'serverUrl', 'httpUrl', 'auth', 'disabled'],
  ...['bootstrapTimeout', 'callTimeout', 'longestCall', 'disclosure', 'repeatable'],
])

/** An entry may have fields of other programs, and a key among its arguments: those are masked. */
function shownServer(entry: unknown): unknown {
  if (!isRecord(entry)) return mask
  return Object.fromEntries(
    Object.entries(entry).map(([field, value]) => {
      if (field === 'args' && Array.isArray(value)) return [field, value.map(shownArgument)]
      return [field, shownFields.has(field) ? value : mask]
    }),
  )
}

const mask = '…'

/** Flags without a value, paths and names of packages are shown. What else an argument is, only its server knows. */
const shownArgument = (argument: unknown): unknown =>
  typeof argument === 'string' && /^(?:--?[A-Za-z][\w-]*|[/~@.][\w@./-]*)$/.test(argument) ? argument : mask

/** A client that writes back what it read would replace secrets by their masks. */
function refuseMasked(key: string, value: unknown): void {
  if (key === 'mcpServers' && JSON.stringify(value)?.includes(`"${mask}"`))
    throw new Problem(
      422,
      'masked',
      'A value is the mask of a secret; send the secret itself, or change other settings',
    )
}
