import { type Clock, systemClock } from '../core/clock.ts'
import type { ExecutionContext } from '../core/execution.ts'
import type { Extension } from '../core/run.ts'
import type { Session } from '../core/store.ts'
import type { ChangedFile, FileDiff } from './changed-files.ts'
import { checkSnapshotOptions } from './check-options.ts'
import { FileHistory, type SnapshotOptions } from './file-history.ts'
import type { ChangesOptions } from './session-files.ts'
import type {
  InterruptedRollback,
  RollbackOptions,
  SessionRollbackPlan,
  SessionRollbackResult,
} from './session-rollback.ts'

export interface SnapshotsOptions extends SnapshotOptions {
  /** Where the tools of the agent run. */
  readonly execution: ExecutionContext
  readonly clock?: Clock
  /** Called once per run in which no snapshot can be taken, with the reason. */
  readonly onUnavailable?: (why: string) => void
  /** Called when a run or a rollback finds a rollback that a crash interrupted, after it was finished. */
  readonly onInterrupted?: (rollback: InterruptedRollback) => void
}

/** Snapshots of the files of a folder, for the sessions that work in it. */
export interface Snapshots {
  /** For `createAgent({ extensions })`: takes the snapshots. */
  readonly extension: Extension
  /**
   * The files that the work of a session changed, after an entry of its log or since its beginning. Rejects with
   * `RollbackRefusedError` if the snapshots that it needs are not kept.
   */
  changedFiles(session: Session, options?: ChangesOptions): Promise<readonly ChangedFile[]>
  /** The change of one of them as a unified diff, of at most `mostBytes` (default 256 KiB); undefined if there is none. */
  diffOfFile(
    session: Session,
    options: ChangesOptions & { readonly path: string; readonly mostBytes?: number },
  ): Promise<FileDiff | undefined>
  /** What `rollback` would do. */
  planRollback(session: Session, options: RollbackOptions): Promise<SessionRollbackPlan>
  /** Rewinds the conversation, restores files, or both. Rejects with `RollbackRefusedError` if it changes nothing. */
  rollback(session: Session, options: RollbackOptions): Promise<SessionRollbackResult>
  /** Undoes the last rollback of a session; called again, it makes the rollback again. */
  undoRollback(session: Session, options?: { readonly force?: boolean }): Promise<SessionRollbackResult>
  /** Removes the snapshots of sessions, in all folders of the store. */
  forget(sessionIds: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** Keeps snapshots of the files of a folder, outside of it and of its repository, so that sessions can go back. */
export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const { execution, clock = systemClock, onUnavailable, onInterrupted, ...kept } = options
  if (typeof execution?.exec !== 'function')
    throw new TypeError('createSnapshots needs an execution context, such as createProcessContext()')
  checkSnapshotOptions('createSnapshots', kept)
  const history = new FileHistory({ ...kept, execution, clock })
  const load = () => import('./session-rollback.ts')
  let extension: Promise<Extension> | undefined
  return {
    extension: {
      name: 'snapshots',
      async start(run, hooks) {
        extension ??= import('./extension.ts').then(({ keepSnapshots }) =>
          keepSnapshots({ files: () => history.snapshots(), onUnavailable, onInterrupted }),
        )
        await (await extension).start?.(run, hooks)
      },
      dispose: () => history.close(),
    },
    changedFiles: async (session, request) =>
      (await import('./session-files.ts')).changedFiles(session, await history.snapshots(), request),
    diffOfFile: async (session, request) =>
      (await import('./session-files.ts')).diffOfFile(session, await history.snapshots(), request),
    planRollback: async (session, request) => (await load()).planRollback(session, await history.snapshots(), request),
    rollback: async (session, request) =>
      (await load()).rollback(session, await history.snapshots(), { ...request, onInterrupted }),
    undoRollback: async (session, request) =>
      (await load()).undoRollback(session, await history.snapshots(), { ...request, onInterrupted }),
    forget: (sessionIds) => history.forget(sessionIds),
    close: () => history.close(),
  }
}
