import type { Clock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import type { FileSnapshots, SnapshotLimits } from './file-snapshots.ts'
import type { Snapshot } from './snapshot.ts'

/** Which files are kept, where, and how much of them. */
export interface SnapshotOptions extends SnapshotLimits {
  /** Default: where the tools run. */
  readonly folder?: string
  /** Where snapshots are kept, an absolute path where the tools run. Default: `.libero/snapshots` in the home folder there. */
  readonly store?: string
  /** Patterns of files to leave out, as in a `.gitignore`; `!pattern` includes what a `.gitignore` leaves out. */
  readonly exclude?: readonly string[]
}

interface FileHistoryOptions extends SnapshotOptions {
  readonly execution: ExecutionContext
  readonly clock: Clock
}

/** The snapshots of a folder, opened on first use. */
export class FileHistory {
  readonly #options: FileHistoryOptions
  #opening: Promise<Opened> | undefined
  /** Why no snapshot could be taken. */
  unavailable: string | undefined

  constructor(options: FileHistoryOptions) {
    this.#options = options
  }

  /** Takes a snapshot; `undefined`, with the reason in `unavailable`, if that is impossible. */
  async take(request: Parameters<FileSnapshots['take']>[0]): Promise<Snapshot | undefined> {
    try {
      const taken = await (await this.snapshots()).take(request)
      this.unavailable = 'unavailable' in taken ? taken.unavailable : undefined
      return 'unavailable' in taken ? undefined : taken
    } catch (error) {
      this.unavailable = messageOf(error)
      return undefined
    }
  }

  /** Removes the snapshots of sessions, of every folder. */
  async forget(sessionIds: readonly string[]): Promise<void> {
    this.#opening ??= this.#open()
    const { handle } = await this.#opening
    const { forgetSnapshots } = await import('./tidy.ts')
    await forgetSnapshots(sessionIds, { ...this.#options, handle })
  }

  async snapshots(): Promise<FileSnapshots> {
    this.#opening ??= this.#open()
    return (await this.#opening).snapshots
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined)
    if (opened) await this.#options.execution.destroy(opened.handle)
  }

  async #open(): Promise<Opened> {
    const { execution } = this.#options
    const handle = await execution.spawn()
    const { createFileSnapshots } = await import('./file-snapshots.ts')
    return { snapshots: createFileSnapshots({ ...this.#options, handle }), handle }
  }
}

interface Opened {
  readonly snapshots: FileSnapshots
  readonly handle: ExecutionHandle
}
