import { randomUUID } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { access, mkdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf, messageOf } from '../../core/errors.ts'
import { shellWord } from '../../core/execution.ts'
import { isRecord } from '../../core/is-record.ts'
import { networkFileSystemOf } from '../../platform/network-fs.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { maxLimit } from '../../sessions/session-query.ts'
import { pluralize } from '../../tui/rows/format.ts'
import { wikiFolder } from '../agents/open-wikis.ts'
import { chooseModel, NoModelError } from '../models/choose-model.ts'
import { credentialsPathOf, openCredentials, variableOf } from '../models/credentials.ts'
import { findLocal } from '../models/local-models.ts'
import { knownProviders } from '../models/providers.ts'
import { isFolderStore, openStore, sessionsPath } from '../sessions/open-store.ts'
import { broken, type Check, type Finding, missing, ok } from './diagnose.ts'
import { existingFolder } from './machine-checks.ts'

/** The user's own folder: it exists or can be created, only the user can write to it, and others cannot read its secrets. */
export const homeFolder: Check = {
  name: 'home',
  isEssential: true,
  async run({ io: { home } }) {
    const info = await stat(home).catch((error: unknown) => codeOf(error) ?? 'unknown')
    if (info === 'ENOENT') return checkParent(home)
    if (typeof info === 'string')
      return broken(
        `${home} cannot be read (${info})`,
        'see who owns it with ls -ld, or set LIBERO_HOME to another folder',
      )
    if (!info.isDirectory())
      return broken(`${home} is not a folder`, `mv ${shellWord(home)} ${shellWord(`${home}.old`)}`)
    if (!(await isWritable(home)))
      return broken(`${home} cannot be written`, `chmod u+rwx ${shellWord(home)}, or set LIBERO_HOME to another folder`)
    const mode = process.platform === 'win32' ? 0 : info.mode
    if (mode & 0o022)
      return broken(
        `${home} can be written by others (mode ${(mode & 0o7777).toString(8)}), so nothing in it is used`,
        `look through it, then run: chmod 700 ${shellWord(home)}`,
      )
    const open = await openFiles(home)
    if (open.length > 0)
      return broken(
        `others may read ${open.join(', ')} in ${home}`,
        `chmod 600 ${open.map((name) => shellWord(join(home, name))).join(' ')}`,
      )
    return ok(mode & 0o055 ? `${home}; others may list it, but cannot read secrets` : `${home}, readable only by you`)
  },
}

async function checkParent(home: string): Promise<Finding> {
  const parent = await existingFolder(dirname(home))
  if (await isWritable(parent)) return ok(`${home} is created when it is needed`)
  return broken(`${home} does not exist, and ${parent} cannot be written`, 'set LIBERO_HOME to a folder of your own')
}

const isWritable = (path: string): Promise<boolean> =>
  access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )

/** Files with secrets that others may read. */
async function openFiles(home: string): Promise<string[]> {
  if (process.platform === 'win32') return []
  const open: string[] = []
  for (const name of ['credentials.json', 'sessions.db']) {
    const info = await stat(join(home, name)).catch(() => undefined)
    if (info && info.mode & 0o077) open.push(name)
  }
  return open
}

/** Whether the settings of the user and of this project can be used. */
export const configFiles: Check = {
  name: 'settings',
  isEssential: true,
  async run({ io, workspace }) {
    try {
      const { project, loaded } = await workspace
      const own = ['config.json', 'authority.json']
        .map((name) => join(io.home, name))
        .filter((path) => existsSync(path))
      const theirs = ['config.json', 'authority.json'].map((name) => join(project.root, '.libero', name))
      const there = theirs.filter((path) => existsSync(path) && !own.includes(path))
      const used = [...own, ...there.filter((path) => project.mayRead(path))]
      const unused = there.filter((path) => !project.mayRead(path))
      return ok(
        [
          used.length === 0 ? 'none; the defaults apply' : `${used.join(', ')} can be used`,
          ...(unused.length === 0 ? [] : [`${unused.join(', ')} not used until you trust this project (libero trust)`]),
          ...loaded.warnings,
        ].join('; '),
      )
    } catch (error) {
      return broken(messageOf(error), 'correct that file, or move it elsewhere')
    }
  },
}

/** Whether sessions can be stored: writes, reads and removes a trial store of the same kind beside the real one, which is only opened. */
export const sessionStore: Check = {
  name: 'sessions',
  isEssential: true,
  async run({ io, config }) {
    const path = sessionsPath(await config, io)
    const network = networkFileSystemOf(dirname(path))
    if (network !== undefined)
      return broken(
        `${path} is on a network file system (${network})`,
        'libero config set sessions <a path on a local disk>',
      )
    try {
      await tryToWrite(path)
      if (!existsSync(path))
        return ok(
          `${path} is created with the first session; ${isFolderStore(path) ? 'text files work' : 'SQLite works'} there`,
        )
      const store = await openStore(path)
      const { sessions, next } = await store.list({ parent: null, limit: maxLimit }).finally(() => store.close?.())
      return ok(`${path}, ${next === undefined ? '' : 'more than '}${pluralize(sessions.length, 'session')}`)
    } catch (error) {
      return broken(messageOf(error), `see ls -ld ${shellWord(dirname(path))}, or: libero config set sessions <path>`)
    }
  },
}

/** The folder is not removed again: another process may be using it by then. */
async function tryToWrite(path: string): Promise<void> {
  const isFolder = isFolderStore(path)
  const folder = isFolder ? path : dirname(path)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const trial = join(folder, isFolder ? `.doctor-${randomUUID()}/` : `doctor-${randomUUID()}.db`)
  try {
    const store = await openStore(trial)
    try {
      const { epoch } = await store.lease('trial', { owner: 'doctor', ttlMs: 60_000, create: true })
      const entry = { type: 'label', seq: 1, id: 'trial', at: 0, text: 'trial' } as const
      await store.append('trial', [entry], { epoch, head: 0 })
      if ((await store.read('trial')).length !== 1) throw new Error(`${trial} was written but is empty`)
    } finally {
      await store.close?.()
    }
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) await rm(`${trial}${end}`, { recursive: true, force: true })
  }
}

/** Which keys there are, and where; never their values. */
export const credentials: Check = {
  name: 'keys',
  async run({ io, config }) {
    try {
      const set = [...knownProviders(await config).values()].flatMap((provider) => {
        const variable = variableOf(provider, io)
        return variable === undefined ? [] : [`${provider.name} (${variable})`]
      })
      const stored = await (await openCredentials(io)).list()
      const inFile = stored.map(
        ({ name, type }) => `${name} (${type === 'oauth' ? 'login' : 'key'} in credentials.json)`,
      )
      if (set.length + inFile.length > 0) return ok([...set, ...inFile].join(', '))
    } catch (error) {
      return broken(messageOf(error), `correct ${credentialsPathOf(io)} by hand, or remove it and log in again`)
    }
    return missing('none', 'libero login, or set an environment variable such as ANTHROPIC_API_KEY')
  },
}

/** Model servers on this machine. */
export const localServers: Check = {
  name: 'local models',
  async run({ io, config }) {
    const local = [...knownProviders(await config).values()].filter(({ isLocal }) => isLocal)
    const found = await findLocal(local, io)
    if (found.length > 0)
      return ok(found.map(({ provider, models }) => `${provider.name} with ${models.length} models`).join(', '))
    const names = local.map(({ name, baseURL }) => `${name} at ${baseURL}`).join(', ')
    return missing(
      `no server answers (${names})`,
      'install Ollama from https://ollama.com, then: ollama pull gpt-oss:20b',
    )
  },
}

/** The model that a run would use. */
export const chosenModel: Check = {
  name: 'model',
  isEssential: true,
  async run({ io, config }) {
    try {
      const { name, model, why } = await chooseModel({}, await config, io)
      if (name === 'offline') return missing(`offline, which is not a language model: ${why}`, 'libero login')
      return ok(`${name}/${model}: ${why}`)
    } catch (error) {
      if (error instanceof NoModelError)
        return missing('none is set up; scripts get an error, a terminal is offered the offline model', 'libero login')
      return broken(messageOf(error), 'libero login, or libero config set provider <name>')
    }
  },
}

/** Whether the configured MCP servers can be read. None is started. */
export const mcpServers: Check = {
  name: 'mcp',
  isEssential: true, // an invalid server in the user's settings prevents every run
  async run({ io, workspace }) {
    const opened = await workspace.catch(() => undefined) // reported by the check for settings
    if (!opened) return ok('not checked, because the settings cannot be used')
    const { gatherServers } = await import('../mcp/gather-servers.ts')
    const { MissingVariableError } = await import('../../mcp/config.ts')
    const servers = gatherServers({ workspace: opened, io }).filter(({ shadowedBy }) => shadowedBy === undefined)
    const wrong = servers.find(({ error }) => error !== undefined && !(error instanceof MissingVariableError))
    if (wrong) {
      const finding = wrong.from === 'user' ? broken : missing
      return finding(fullyVisible(`${wrong.where}: ${wrong.error?.message}`), 'correct it, then: libero mcp')
    }
    const unset = servers.find(({ error }) => error !== undefined)
    if (unset) return missing(fullyVisible(`${unset.error?.message}`), 'set it, then: libero mcp test all')
    const used = servers.filter(({ config }) => config !== undefined).map(({ name }) => fullyVisible(name))
    return ok(used.length === 0 ? 'no servers' : `${used.join(', ')}, not tested (libero mcp test all)`)
  },
}

/** Whether the folders of the configured wikis exist and are wikis. None is opened. */
export const wikis: Check = {
  name: 'wikis',
  async run({ io, config }) {
    const named = Object.entries((await config).wikis ?? {})
    if (named.length === 0) return ok('none configured')
    const found = await Promise.all(
      named.map(async ([name, { folder }]) => {
        const path = wikiFolder(folder, io)
        return { name, path, problem: await wikiProblem(path) }
      }),
    )
    const wrong = found.filter(({ problem }) => problem !== undefined)
    const [first] = wrong
    if (!first) return ok(found.map(({ name, path }) => `${name} in ${path}`).join(', '))
    return broken(
      wrong.map(({ name, path, problem }) => `${name}: ${path} ${problem}`).join('; '),
      `create a wiki there: npx tiddlywiki ${JSON.stringify(first.path)} --init server; or set another folder: libero config set wikis.${first.name} '{"folder": "…"}'`,
    )
  },
}

async function wikiProblem(folder: string): Promise<string | undefined> {
  const stats = await stat(folder).catch(codeOf)
  if (stats === 'ENOENT') return 'does not exist'
  if (typeof stats !== 'object') return `cannot be read (${stats ?? 'unknown'})`
  if (!stats.isDirectory()) return 'is not a folder'
  const info = await readFile(join(folder, 'tiddlywiki.info'), 'utf8').catch((error) => ({ code: codeOf(error) }))
  if (typeof info === 'object')
    return info.code === 'ENOENT'
      ? 'is not a wiki: it has no tiddlywiki.info'
      : `is not a readable wiki: its tiddlywiki.info cannot be read (${info.code ?? 'unknown'})`
  try {
    if (isRecord(JSON.parse(info))) return undefined
  } catch {}
  return 'is not a readable wiki: its tiddlywiki.info is not a JSON object'
}
