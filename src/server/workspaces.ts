import { type WorkspaceFiles, workspaceFiles } from '../chat/workspace-files.ts'
import type { Clock } from '../core/clock.ts'
import type { Session, SessionStore, SessionSummary } from '../core/store.ts'
import { loadSession } from '../sessions/session.ts'
import type { ServerOptions } from './server-options.ts'
import { tenantOf } from './session-names.ts'
import type { ChosenSettings, SessionSettings, SettingsChange } from './session-settings.ts'
import type { SessionWorkspace } from './session-workspace.ts'

interface WorkspacesOptions {
  readonly store: SessionStore
  readonly settings: ChosenSettings
  readonly clock: Clock
  readonly open: ServerOptions['workspaceFor']
}

/** A workspace, and the session as it is now. */
export interface OpenWorkspace {
  readonly workspace: SessionWorkspace
  readonly session: Session
  /** Absent if the host did not say where tools work. */
  readonly files?: WorkspaceFiles
}

/** How long one stays open: a person types, and each letter asks for completions. Settings of files count after it. */
const keptMs = 10_000

/** The workspaces of sessions, opened on demand. */
export class Workspaces {
  readonly #options: WorkspacesOptions
  readonly #kept = new Map<string, Kept>()

  constructor(options: WorkspacesOptions) {
    this.#options = options
  }

  /**
   * Does something with the workspace of a session; with an empty one if the host has none for it. With a change it is the
   * workspace that the session would have after it.
   */
  async use<Result>(
    summary: SessionSummary,
    work: (open: OpenWorkspace) => Promise<Result>,
    change: SettingsChange = {},
  ): Promise<Result> {
    const { store, settings } = this.#options
    const session = await loadSession(store, summary.id)
    const kept = this.#keep(summary, session, settings.after(session, summary, change))
    kept.users++
    try {
      return await work({ ...(await kept.opening), session })
    } finally {
      kept.users--
      if (kept.isOld) await this.#closeUnused(kept)
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#kept.values()].map((kept) => this.#retire(kept)))
  }

  #keep(summary: SessionSummary, session: Session, chosen: SessionSettings): Kept {
    const { id } = summary
    const key = JSON.stringify([summary.folder, summary.createdAt, chosen])
    const known = this.#kept.get(id)
    if (known?.key === key) return known
    if (known) void this.#retire(known)
    const kept: Kept = { id, key, users: 0, opening: this.#open(summary, session, chosen) }
    this.#kept.set(id, kept)
    kept.cancelTimer = this.#options.clock.timer(keptMs, () => void this.#retire(kept))
    kept.opening.catch(() => void this.#retire(kept)) // the next request tries again
    return kept
  }

  async #open(
    summary: SessionSummary,
    session: Session,
    settings: SessionSettings,
  ): Promise<Omit<OpenWorkspace, 'session'>> {
    const { store, open } = this.#options
    const tenant = await tenantOf(store, summary.id)
    const workspace = (await open?.({ session, summary, tenant, settings, skills: [] })) ?? emptyWorkspace
    const { execution } = workspace
    return { workspace, ...(execution && { files: workspaceFiles({ execution }) }) }
  }

  async #retire(kept: Kept): Promise<void> {
    kept.isOld = true
    kept.cancelTimer?.()
    if (this.#kept.get(kept.id) === kept) this.#kept.delete(kept.id)
    await this.#closeUnused(kept)
  }

  async #closeUnused(kept: Kept): Promise<void> {
    if (kept.users > 0 || kept.isClosed) return
    kept.isClosed = true
    const opened = await kept.opening.catch(() => undefined)
    await opened?.workspace.close()
  }
}

const emptyWorkspace: SessionWorkspace = { async close() {} }

interface Kept {
  readonly id: string
  /** What it depends on. */
  readonly key: string
  readonly opening: Promise<Omit<OpenWorkspace, 'session'>>
  users: number
  cancelTimer?: () => void
  isOld?: boolean
  isClosed?: boolean
}
