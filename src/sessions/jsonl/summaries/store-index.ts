import * as fs from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../../core/clock.ts'
import { failpoint } from '../../../core/log.ts'
import type { SessionPage, SessionQuery, SessionSummary } from '../../../core/store.ts'
import type { ProcessIdentity } from '../../../platform/process-identity.ts'
import { type ParsedQuery, pageOf, parseQuery } from '../../session-query.ts'
import { listSessions } from '../../sqlite/list-sessions.ts'
import { corruptError } from '../../sqlite/problems.ts'
import { logPath } from '../log-file.ts'
import type { LogWriter } from '../log-writer.ts'
import { ProcessStates, processIdOf } from '../process-states.ts'
import { folderNameOf, readMeta } from '../session-folder.ts'
import { folderNamesIn } from '../session-list.ts'
import { ChangeFile, otherChanges } from './change-file.ts'
import { IndexConnection, retryMs } from './index-connection.ts'
import type { IndexDatabase } from './index-database.ts'
import { countLeases, findRow, type IndexRow, rowColumns, stateIn } from './index-rows.ts'
import { LeaseLiveness } from './lease-liveness.ts'
import { type Appended, isCurrent, OwnSessions } from './own-sessions.ts'
import { refreshRow } from './refresh-row.ts'
import { Aspect, saveRows } from './save-rows.ts'
import { type LogState, lookAtSession, type MailState, type SessionState } from './session-state.ts'

interface StoreIndexOptions {
  readonly dir: string
  /** Unique for each store object. */
  readonly storeInstanceId: string
  readonly clock: Clock
  /** The identity of the store; undefined if it has no index, such as one that can only be read. */
  readonly identity: () => string | undefined
}

/** A session that is about to be written. */
interface WrittenSession {
  readonly id: string
  readonly parent: string | undefined
  readonly log: LogWriter
  /** The session that it is forked from. */
  readonly base: string | undefined
}

/** The index gets changes after this time at the earliest, and later if writing them takes long. */
const minPauseMs = 50
const pausePerWork = 20

/**
 * The summaries of a store. An append only changes the summary in memory, after its session was named in the `ChangeFile`. The
 * index gets the summaries a moment later. Before sessions are listed, those that other processes have named since are read
 * again. So a list is never wrong, whenever a process is killed. If there is no index, it is made from the folders.
 */
export class StoreIndex {
  readonly #options: StoreIndexOptions
  readonly #connection: IndexConnection
  readonly #changes: ChangeFile
  readonly #own: OwnSessions
  /** What the index does not have yet: aspects by the name of the folder. */
  #unsaved = new Map<string, number>()
  /** How many changes of a session are under way. */
  readonly #underWay = new Map<string, number>()
  #saving: Promise<void> | undefined
  #checking: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #pauseMs = minPauseMs

  constructor(options: StoreIndexOptions) {
    this.#options = options
    this.#connection = new IndexConnection(options.dir, options.identity)
    this.#changes = new ChangeFile(options.dir, options.storeInstanceId)
    this.#own = new OwnSessions(options.dir)
  }

  /** Has to be called before a session is changed, and `endChange` afterwards. */
  beginChange(name: string): void {
    this.#changes.add(name)
    this.#underWay.set(name, (this.#underWay.get(name) ?? 0) + 1)
  }

  /** The change has ended, or failed; `aspects` is what it may have changed. */
  endChange(name: string, aspects: number): void {
    const others = (this.#underWay.get(name) ?? 1) - 1
    if (others > 0) this.#underWay.set(name, others)
    else this.#underWay.delete(name)
    this.#addUnsaved(name, aspects)
  }

  isPrepared(name: string, log: LogWriter): boolean {
    return this.#own.isPrepared(name, log)
  }

  /** Has to be awaited before the first append to a log. */
  async prepare(name: string, { base, ...session }: WrittenSession): Promise<void> {
    if (!(await this.#connection.get())) return
    await this.#own.prepare(name, {
      ...session,
      parent: session.parent ?? readMeta(join(this.#options.dir, name))?.parent,
      findSelf: () => this.#known(name),
      findBase: async () => (base === undefined ? undefined : this.#lookAt(folderNameOf(base))),
    })
  }

  /** Adds an append to the summary of its session. Returns what changed. */
  append(name: string, appended: Appended): number {
    if (!this.#own.add(name, appended)) return Aspect.unknown
    return appended.originalEntries.some((entry) => 'clientKey' in entry) ? Aspect.log | Aspect.accepted : Aspect.log
  }

  #addUnsaved(name: string, aspects: number): void {
    this.#unsaved.set(name, (this.#unsaved.get(name) ?? 0) | aspects)
    this.#armTimer(this.#pauseMs)
  }

  #armTimer(pauseMs: number): void {
    // What fails here stays unsaved, and fails again when sessions are listed.
    this.#timer ??= setTimeout(() => void this.#save().catch(() => {}), pauseMs).unref()
  }

  async find(id: string): Promise<SessionSummary | undefined> {
    const state = await this.#lookAt(folderNameOf(id))
    return state && this.#liveness().summaryOf(state)
  }

  async list(query: SessionQuery | undefined): Promise<SessionPage> {
    const parsed = parseQuery(query)
    const page = await this.#connection.use(async (database) => {
      await this.#bringUpToDate(database)
      const first = this.#pageOf(database, parsed)
      if (first.changed.length === 0) return first.page
      for (const name of first.changed) await refreshRow(database, this.#options.dir, name)
      return this.#pageOf(database, parsed).page
    })
    return page ?? pageOf(await this.#readAll(), query)
  }

  /** A page, and the names of its sessions whose logs were changed by hand or are being written. */
  #pageOf(database: IndexDatabase, query: ParsedQuery): { readonly page: SessionPage; readonly changed: string[] } {
    const liveness = this.#liveness(database)
    const changed: string[] = []
    const summarize = (row: IndexRow): SessionSummary => {
      const state = stateIn(row)
      if (!state) throw corruptError(database.path, `the record of ${row.name} is damaged`)
      const { size } = fs.lstatSync(logPath(join(this.#options.dir, row.name)), { throwIfNoEntry: false }) ?? {}
      if (size !== row.size) changed.push(row.name)
      return liveness.summaryOf(state)
    }
    return { page: listSessions(database, query, { columns: rowColumns, summarize }), changed }
  }

  /** How many leases a process had when it died. Counted only once, because other processes then take them over one by one. */
  async leasesOfDead(process: ProcessIdentity): Promise<number> {
    const id = processIdOf(process)
    const counted = await this.#connection.use(async (database) => {
      await this.#bringUpToDate(database)
      return database.write(() => countLeases(database, id))
    })
    return Math.max(1, counted ?? (await this.#countLeases(id)))
  }

  /** The same without an index. */
  async #countLeases(id: string): Promise<number> {
    let count = 0
    for await (const name of folderNamesIn(this.#options.dir))
      if ((await this.#lookAt(name))?.leaseProcessId === id) count++
    return count
  }

  /** Without an index: all sessions, from their logs. */
  async #readAll(): Promise<SessionSummary[]> {
    const liveness = this.#liveness()
    const summaries: SessionSummary[] = []
    for await (const name of folderNamesIn(this.#options.dir)) {
      const state = await this.#lookAt(name)
      if (state) summaries.push(liveness.summaryOf(state))
    }
    return summaries
  }

  #liveness(database?: IndexDatabase): LeaseLiveness {
    const { dir, clock } = this.#options
    return new LeaseLiveness({ dir, now: clock.now(), database })
  }

  /** The state of a session as its files say, with the help of what is known. */
  async #lookAt(name: string): Promise<SessionState | undefined> {
    return lookAtSession(this.#options.dir, name, await this.#known(name))
  }

  async #known(name: string): Promise<(LogState & MailState) | undefined> {
    const state = await this.#connection.use((database) => {
      const row = findRow(database, name)
      return row && stateIn(row)
    })
    const own = this.#own.get(name)
    if (!own || own.summary.head <= (state?.summary.head ?? 0) || !isCurrent(own, join(this.#options.dir, name)))
      return state
    return { summary: own.summary, size: own.size, mail: 'none', inbox: '' }
  }

  /** Gives the index all changes, of this process and of others. */
  async #bringUpToDate(database: IndexDatabase): Promise<void> {
    if (!database.isChecked()) {
      this.#checking ??= this.#checkAll(database)
      await this.#checking.finally(() => {
        this.#checking = undefined
      })
    }
    await this.#saveTo(database)
    await this.#takeOthers(database)
  }

  /** Looks at the sessions that other store objects have changed, or were about to change when they died. */
  async #takeOthers(database: IndexDatabase): Promise<void> {
    const { dir, storeInstanceId } = this.#options
    const states = new ProcessStates()
    for (const { path, process, unsaved } of otherChanges(dir, storeInstanceId)) {
      for (const name of unsaved) await refreshRow(database, dir, name)
      if (process && states.of(process) === 'dead') fs.rmSync(path, { force: true })
    }
  }

  /** Looks at every session, because there was no index, or the machine has been started since it was checked. */
  async #checkAll(database: IndexDatabase): Promise<void> {
    const { dir } = this.#options
    if (!database.isSound()) throw corruptError(database.path, 'a check failed')
    const names = new Set<string>()
    for await (const name of folderNamesIn(dir)) {
      names.add(name)
      await refreshRow(database, dir, name)
    }
    for (const { name } of database.statement('SELECT name FROM sessions').all())
      if (!names.has(String(name))) await refreshRow(database, dir, String(name))
    failpoint('jsonl.index.beforeChecked')
    database.setChecked()
  }

  /** Writes to the index what it does not have. */
  async #save(): Promise<void> {
    this.#timer = undefined
    await this.#connection.use((database) => this.#saveTo(database))
    // Still unsaved: there is no index, or another process was writing for too long.
    if (this.#unsaved.size > 0) this.#armTimer(retryMs)
  }

  async #saveTo(database: IndexDatabase): Promise<void> {
    while (this.#saving) await this.#saving.catch(() => {})
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#unsaved.size === 0) return
    this.#saving = this.#saveUnsaved(database).finally(() => {
      this.#saving = undefined
    })
    await this.#saving
  }

  async #saveUnsaved(database: IndexDatabase): Promise<void> {
    const { dir } = this.#options
    const begun = performance.now()
    const changes = this.#unsaved
    this.#unsaved = new Map()
    try {
      await saveRows(database, { dir, changes, own: this.#own })
    } catch (error) {
      for (const [name, aspects] of changes) this.#addUnsaved(name, aspects)
      throw error
    }
    failpoint('jsonl.index.saved')
    this.#changes.save(new Set([...this.#underWay.keys(), ...this.#unsaved.keys()]))
    this.#pauseMs = Math.max(minPauseMs, pausePerWork * (performance.now() - begun))
  }

  async close(): Promise<void> {
    await this.#connection.use((database) => this.#saveTo(database)).catch(() => {})
    this.#unsaved.clear()
    clearTimeout(this.#timer)
    await this.#connection.close()
    this.#changes.close()
  }
}
