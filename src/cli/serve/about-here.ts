import { hostname } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { CredentialsError } from '../../auth/credentials.ts'
import { OAuthError } from '../../auth/token-endpoint.ts'
import { isRecord } from '../../core/is-record.ts'
import { createRedactor, placeholder } from '../../platform/redact.ts'
import type { WikitextRenderer } from '../../plugins/wiki/tiddlywiki/wikitext-renderer.ts'
import { Problem } from '../../server/problem.ts'
import type { ServerAbout } from '../../server/server-options.ts'
import { CliError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import { loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'
import type { ServedLogins } from '../mcp/served-logins.ts'
import type { KnownProvider } from '../models/providers.ts'

interface AboutOptions {
  /** The flags as they are now, for the rules. */
  readonly flagsNow?: () => RunValues
  readonly io: Io
  readonly cwd: string
  readonly logins: ServedLogins
  readonly wikitext: WikitextRenderer
  readonly closing: AbortSignal
}

/** Facts about this machine for clients, as the commands of the same names print them. Secrets are in none of them. */
export function aboutHere(flags: RunValues, options: AboutOptions): ServerAbout {
  const { flagsNow = () => flags, io: whole, cwd, logins, wikitext, closing } = options
  const io: Io = Object.create(whole, { cwd: { value: cwd } })
  const { preset, profile, mcp } = flags
  const query = mcp ? { mcp } : {}
  /** The last net: what looks like a secret, and the values of variables that are named like one. */
  const redactor = createRedactor({ env: io.env })
  const redacted = <T>(value: T): T => redactor.json(value)
  const policy = async () => (await import('./policy-here.ts')).policyHere(flagsNow(), io)

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
      const { servers } = await listServers(query, io)
      const shown = servers.map((one) => {
        const login = one.name === undefined ? undefined : logins.stateOf(one.name)
        return { ...one, ...('entry' in one && { entry: shownServer(one.entry) }), ...(login && { loginState: login }) }
      })
      return redacted(shown)
    },
    mcpLogin: (name) => asProblem(() => logins.begin(name)),
    async mcpLogout(name) {
      const { deleteLogins, requireLogin } = await import('../mcp/login.ts')
      return asProblem(async () => {
        await requireLogin(name, query, io)
        return deleteLogins(name, io)
      })
    },
    async mcpTest(name) {
      const { findServers, requireServer } = await import('../mcp/find-servers.ts')
      const { connectAll } = await import('../mcp/test-servers.ts')
      const config = await asProblem(async () => requireServer(name, await findServers(query, io)))
      const [result] = await connectAll([config], io, closing)
      return redacted(result)
    },
    async skills() {
      const { listSkills } = await import('../skills/list-skills.ts')
      return redacted(await listSkills(io))
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
    explain: (call, caller) => asProblem(async () => (await policy()).explain(call, caller)),
    testPolicy: (...given) => asProblem(async () => (await policy()).testPolicy(...given)),
    rules: (caller) => asProblem(async () => (await policy()).rules(caller)),
    async grants() {
      const { keptGrants } = await import('../grants/grants.ts')
      const { grantId } = await import('../../authority/grants/grant.ts')
      const { placeWords } = await import('../../authority/interaction/approval-options.ts')
      const grants = (await asProblem(() => keptGrants(io))).toSorted((a, b) => b.grantedAt - a.grantedAt)
      const shown = grants.map((grant) => {
        const { key: _, origin: __, bound, within, ...facts } = grant
        const files = bound && { bound: Object.keys(bound) }
        return { id: grantId(grant), ...facts, ...files, ...(within && { within, where: placeWords(within) }) }
      })
      return redacted(shown)
    },
    async revokeGrant(id) {
      const { revokeGrant } = await import('../grants/grants.ts')
      return asProblem(() => revokeGrant(id, io))
    },
    async audit(wanted) {
      const { auditPage } = await import('../audit/audit-page.ts')
      return asProblem(() => auditPage(wanted, io, redacted))
    },
    async providers() {
      const { listProviders } = await import('../models/list-providers.ts')
      return asProblem(() => listProviders(io))
    },
    async setKey({ provider: name, ...given }) {
      const { refuseKeyless, storeKey } = await import('../login/log-in.ts')
      await asProblem(async () => {
        const provider = await namedProvider(name, io)
        refuseKeyless(provider)
        await storeKey(provider, given, io)
      })
    },
    async deleteKey(name) {
      const { openCredentials } = await import('../models/credentials.ts')
      return asProblem(async () => (await openCredentials(io)).remove(name))
    },
    ...(wikitext.isAvailable && { wikitext: (text: string) => wikitext.render(text) }),
    place: async () => ({ host: hostname(), folder: homeRelative(cwd, io.userHome) }),
  }
}

async function namedProvider(name: string, io: Io): Promise<KnownProvider> {
  const { requireKnown } = await import('../models/choose-model.ts')
  const { knownProviders } = await import('../models/providers.ts')
  return requireKnown(name, knownProviders((await loadConfig({ home: io.home })).config))
}

/** A path below the home as `~/…`. */
function homeRelative(path: string, home: string): string {
  const inside = relative(home, path)
  if (inside === '') return '~'
  return inside.startsWith('..') || isAbsolute(inside) ? path : join('~', inside)
}

/** The sentences of the command line are for clients too. */
export async function asProblem<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CliError || error instanceof OAuthError || error instanceof CredentialsError)
      throw new Problem(422, 'refused', error.message)
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
  const text = JSON.stringify(value) ?? ''
  if (placeholder.test(text) || (key === 'mcpServers' && text.includes(`"${mask}"`)))
    throw new Problem(
      422,
      'masked',
      `A value of ${key} is the mask of a secret; send the secret itself, or change other settings`,
    )
}
