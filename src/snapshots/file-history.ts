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
  #snapshots: Promise<FileSnapshots> | undefined
  #handle: Promise<ExecutionHandle> | undefined
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
    const { forgetSnapshots } = await import('./tidy.ts')
    await forgetSnapshots(sessionIds, { ...this.#options, handle: await this.#open() })
  }

  async snapshots(): Promise<FileSnapshots> {
    this.#snapshots ??= this.#create().catch((error) => {
      this.#snapshots = undefined
      throw error
    })
    return this.#snapshots
  }

  /** What is used later opens it again: an agent that ends closes it, and a caller or another agent may go on. */
  async close(): Promise<void> {
    const handle = await this.#handle?.catch(() => undefined)
    this.#handle = undefined
    if (handle) await this.#options.execution.destroy(handle)
  }

  async #create(): Promise<FileSnapshots> {
    const { execution } = this.#options
    const { createFileSnapshots } = await import('./file-snapshots.ts')
    return createFileSnapshots({
      ...this.#options,
      handle: await this.#open(),
      execution: {
        type: execution.type,
        ...(execution.capabilities && { capabilities: execution.capabilities }),
        exec: async (_, command, options) => execution.exec(await this.#open(), command, options),
      },
    })
  }

  #open(): Promise<ExecutionHandle> {
    this.#handle ??= this.#options.execution.spawn()
    return this.#handle
  }
}
