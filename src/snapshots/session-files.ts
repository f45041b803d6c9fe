import type { Session } from '../core/store.ts'
import type { ChangedFile, FileDiff } from './changed-files.ts'
import { type FileSnapshots, SnapshotsUnavailableError, type Work } from './file-snapshots.ts'
import { RollbackRefusedError } from './rollback-error.ts'
import { Timeline } from './timeline.ts'

/** Since when. */
export interface ChangesOptions {
  /** Only work after this entry of the log. Default 0: all of it. */
  readonly after?: number
}

/** The files that the work of a session changed, as its snapshots have them. */
export async function changedFiles(
  session: Session,
  files: FileSnapshots,
  { after = 0 }: ChangesOptions = {},
): Promise<readonly ChangedFile[]> {
  return files.changes(await workOf(session, after)).catch(refuse)
}

/** What the work of a session changed in one file; undefined if it is as it was. */
export async function diffOfFile(
  session: Session,
  files: FileSnapshots,
  { path, after = 0, mostBytes = 256 * 1024 }: ChangesOptions & { readonly path: string; readonly mostBytes?: number },
): Promise<FileDiff | undefined> {
  return files.diff(await workOf(session, after), { path, mostBytes }).catch(refuse)
}

/** Of a run under way, or one that was cut off, what its last snapshot has. */
async function workOf(session: Session, after: number): Promise<readonly Work[]> {
  const timeline = await Timeline.read(session.entries())
  if (timeline.folder === undefined)
    throw new RollbackRefusedError('not_kept', timeline.unavailable ?? 'no snapshots were taken in this session')
  return timeline.workAfter(after, timeline.latest)
}

function refuse(error: unknown): never {
  if (!(error instanceof SnapshotsUnavailableError)) throw error
  throw new RollbackRefusedError('not_kept', error.message, { cause: error })
}
