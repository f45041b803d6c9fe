import type { Clock } from '../../core/clock.ts'
import { codeOf, messageOf } from '../../core/errors.ts'
import type { ExecutionContext, ExecutionHandle } from '../../core/execution.ts'
import type {
  FileChange,
  FileSnapshots,
  RollbackOptions,
  RollbackPlan,
  RollbackResult,
  Snapshot,
} from './file-snapshots.ts'

interface FileHistoryOptions {
  readonly execution: ExecutionContext
  /** Default: where the tools run. */
  readonly folder?: string
  readonly clock: Clock
}

/** Snapshots of a folder, and their rollback. Opened on first use. */
export class FileHistory {
  readonly #options: FileHistoryOptions
  #opening: Promise<Opened> | undefined
  /** Why no snapshot could be taken. */
  unavailable: string | undefined

  constructor(options: FileHistoryOptions) {
    this.#options = options
  }

  /** Takes a snapshot; `undefined`, with the reason in `unavailable`, if that is impossible. */
  async take(): Promise<Snapshot | undefined> {
    try {
      const { snapshots } = await this.#open()
      const taken = await snapshots.take()
      this.unavailable = 'unavailable' in taken ? taken.unavailable : undefined
      return 'unavailable' in taken ? undefined : taken
    } catch (error) {
      this.unavailable = messageOf(error)
      return undefined
    }
  }

  async diff(before: Snapshot, after: Snapshot): Promise<readonly FileChange[]> {
    return (await this.#open()).snapshots.diff(before, after)
  }

  async plan(before: Snapshot, after: Snapshot): Promise<RollbackPlan> {
    return (await this.#open()).snapshots.plan(before, after)
  }

  async rollback(options: RollbackOptions): Promise<RollbackResult> {
    return (await this.#open()).snapshots.rollback(options)
  }

  /** Removes snapshots from the repositories in which they were taken. A folder that is gone is ignored. */
  async remove(taken: readonly Pick<Snapshot, 'ref' | 'folder'>[]): Promise<void> {
    const { execution, clock } = this.#options
    const { handle } = await this.#open()
    const { createFileSnapshots, SnapshotsUnavailableError } = await import('./file-snapshots.ts')
    for (const [folder, list] of Map.groupBy(taken, (one) => one.folder ?? this.#options.folder)) {
      const snapshots = createFileSnapshots({ execution, handle, clock, ...(folder !== undefined && { folder }) })
      await snapshots.remove(new Set(list.flatMap(({ ref }) => ref ?? []))).catch((error) => {
        if (!(error instanceof SnapshotsUnavailableError) && !isMissingFolder(error)) throw error
      })
    }
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined)
    if (opened) await this.#options.execution.destroy(opened.handle)
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#start()
    return this.#opening
  }

  async #start(): Promise<Opened> {
    const { execution, folder, clock } = this.#options
    const handle = await execution.spawn()
    const { createFileSnapshots } = await import('./file-snapshots.ts')
    const snapshots = createFileSnapshots({ execution, handle, clock, ...(folder !== undefined && { folder }) })
    return { snapshots, handle }
  }
}

const isMissingFolder = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')

interface Opened {
  readonly snapshots: FileSnapshots
  readonly handle: ExecutionHandle
}
