import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { AgentError } from '../../../core/errors.ts'
import type { KnowledgeStore, Tiddler, Wiki, WikiCall, WikiWrite, WorkspaceInfo } from '../knowledge-store.ts'
import {
  checkedTiddler,
  checkTitle,
  checkUnchanged,
  throwReadOnly,
  throwUnknownTiddler,
  throwUnknownWorkspace,
  wikiDate,
} from '../stores/checked-tiddler.ts'
import { checkedFilter } from '../stores/wiki-limits.ts'
import { createWikiClient, type WikiClient } from './ask-wiki.ts'
import { changeFiles, FileChanged, withWikiLock } from './change-files.ts'
import type { ChangePlan } from './plan-change.ts'

export interface TiddlyWikiStoreOptions {
  readonly workspaces:
    | Readonly<Record<string, TiddlyWikiWorkspace>>
    | readonly (TiddlyWikiWorkspace & { readonly name: string })[]
  /** The time limit of a call. Default 10 seconds. */
  readonly timeLimitMs?: number
  readonly clock?: Clock
}

export interface TiddlyWikiWorkspace {
  /** The folder with `tiddlywiki.info`. */
  readonly folder: string
  readonly readOnly?: boolean
  readonly description?: string
  /**
   * The wiki is trusted like a program: its plugins, the wikis it includes, the files its `tiddlywiki.files` names, and
   * its JavaScript modules are loaded and run, and modules may be written. Default: false, none of this.
   */
  readonly loadPlugins?: boolean
}

/**
 * Wikis in folders, read by TiddlyWiki itself (the package `tiddlywiki`), each in a thread that is ended when a call takes
 * too long. The next call sees changes on the disk. JavaScript in tiddlers is foreign code: it is never run and never
 * written, unless a workspace sets `loadPlugins`.
 */
export function createTiddlyWikiStore(options: TiddlyWikiStoreOptions): KnowledgeStore {
  const { timeLimitMs = 10_000, clock = systemClock } = options
  const known = new Map(namedWorkspaces(options.workspaces).map((workspace) => [workspace.name, workspace]))
  const wikis = new Map<string, Promise<OpenWiki>>()
  let isClosed = false

  return {
    workspaces: async () => [...known.values()].map(infoOf),
    async open(name) {
      const workspace = known.get(name) ?? throwUnknownWorkspace(name, [...known.keys()])
      if (isClosed) throw new AgentError('The store of wikis was closed; make a new one')
      const opened = wikis.get(name) ?? openWiki(workspace, { timeLimitMs, clock })
      wikis.set(name, opened)
      // A missing folder may exist later.
      opened.catch(() => wikis.delete(name))
      return (await opened).wiki
    },
    async close() {
      isClosed = true
      const opened = await Promise.allSettled(wikis.values())
      await Promise.all(opened.map((one) => one.status === 'fulfilled' && one.value.client.close()))
    },
  }
}

interface NamedWorkspace extends TiddlyWikiWorkspace {
  readonly name: string
}

interface OpenWiki {
  readonly wiki: Wiki
  readonly client: WikiClient
}

function namedWorkspaces(given: TiddlyWikiStoreOptions['workspaces']): NamedWorkspace[] {
  const isList = (value: typeof given): value is readonly NamedWorkspace[] => Array.isArray(value)
  const named = isList(given) ? [...given] : Object.entries(given).map(([name, workspace]) => ({ ...workspace, name }))
  for (const { name, folder } of named) {
    if (typeof name !== 'string' || name === '')
      throw new AgentError('A workspace of createTiddlyWikiStore has no name; give it one')
    if (typeof folder !== 'string' || folder === '')
      throw new AgentError(`The workspace "${name}" has no folder; give it one`)
    if (named.filter((one) => one.name === name).length > 1)
      throw new AgentError(`There are two workspaces "${name}"; give each a name of its own`)
  }
  return named
}

const infoOf = ({ name, folder, readOnly, description }: NamedWorkspace): WorkspaceInfo => ({
  name,
  folder: resolve(folder),
  ...(readOnly && { isReadOnly: true }),
  ...(description !== undefined && { description }),
})

async function openWiki(
  workspace: NamedWorkspace,
  { timeLimitMs, clock }: { readonly timeLimitMs: number; readonly clock: Clock },
): Promise<OpenWiki> {
  const info = infoOf(workspace)
  const folder = await realpath(info.folder!).catch((cause: unknown) => {
    throw new AgentError(
      `The folder ${info.folder} of the workspace "${info.name}" is not there; make it, or name another`,
      { cause },
    )
  })
  const loadPlugins = workspace.loadPlugins === true
  const client = createWikiClient({ workspace: info.name, folder, loadPlugins, timeLimitMs })

  const change = (title: string, call: WikiWrite | undefined, plan: () => Promise<ChangePlan>): Promise<ChangePlan> =>
    client.exclusively(() =>
      withWikiLock(folder, () =>
        applyPlan(folder, async () => {
          const next = await plan()
          checkUnchanged(title, next.before, call)
          return next
        }),
      ),
    )

  const wiki: Wiki = {
    info,
    get: async (title, call) => client.ask({ ask: 'get', title: String(title) }, call?.signal),
    filter: async (filter, call) =>
      client.ask({ ask: 'filter', filter: checkedFilter(filter), ...numbersOf(call) }, call?.signal),
    backlinks: async (title, call) => client.ask({ ask: 'backlinks', title, ...numbersOf(call) }, call?.signal),
    tagTree: async (title, call) => client.ask({ ask: 'tagTree', title, ...numbersOf(call) }, call?.signal),
    recent: async (call) => {
      const since = call?.since && { since: wikiDate(call.since.getTime()) }
      return client.ask({ ask: 'recent', ...numbersOf(call), ...since }, call?.signal)
    },
    render: async (title, call) =>
      (await client.ask<Awaited<ReturnType<Wiki['render']>> | undefined>({ ask: 'render', title }, call?.signal)) ??
      throwUnknownTiddler(title, info.name),
    async put(given, call) {
      if (info.isReadOnly) throwReadOnly(info.name)
      const tiddler = checkedTiddler(given)
      if (!loadPlugins) refuseCode(tiddler)
      const now = wikiDate(clock.now())
      const plan = (): Promise<ChangePlan> => client.ask({ ask: 'planPut', tiddler, now }, call?.signal)
      return (await change(tiddler.title, call, plan)).tiddler!
    },
    async delete(title, call) {
      if (info.isReadOnly) throwReadOnly(info.name)
      checkTitle(title)
      const plan = (): Promise<ChangePlan> => client.ask({ ask: 'planDelete', title }, call?.signal)
      const { writes, removals } = await change(title, call, plan)
      return writes.length + removals.length > 0
    },
  }
  return { wiki, client }
}

/** Changes files, and plans again if a file was changed in between. */
async function applyPlan(folder: string, plan: () => Promise<ChangePlan>): Promise<ChangePlan> {
  for (let attempt = 1; ; attempt++) {
    const next = await plan()
    try {
      await changeFiles(folder, next)
      return next
    } catch (error) {
      if (!(error instanceof FileChanged)) throw error
      if (attempt === mostAttempts)
        throw new AgentError(
          `${error.message} is changed by another writer all the time; nothing was written, try again later`,
        )
    }
  }
}

const mostAttempts = 4

function numbersOf(
  call: (WikiCall & { readonly offset?: number; readonly limit?: number; readonly depth?: number }) | undefined,
): { offset?: number; limit?: number; depth?: number } {
  const { offset, limit, depth } = call ?? {}
  return {
    ...(offset !== undefined && { offset }),
    ...(limit !== undefined && { limit }),
    ...(depth !== undefined && { depth }),
  }
}

/** TiddlyWiki would run it at its next start. */
function refuseCode({ title, fields = {} }: Tiddler): void {
  const field = ['module-type', 'plugin-type'].find((name) => Object.hasOwn(fields, name))
  if (field === undefined) return
  throw new AgentError(
    `The tiddler ${JSON.stringify(title)} has a field "${field}", by which TiddlyWiki would run it as code; leave it out, or set loadPlugins for a wiki you trust`,
  )
}
