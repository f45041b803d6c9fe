import { join } from 'node:path'
import type { ExecutionContext } from '../../core/execution.ts'
import type { SnapshotOptions } from '../../snapshots/file-history.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import { readSize } from '../sessions/retention.ts'

/** How snapshots of files are kept, by the settings; undefined if none are taken. In a container they are kept there. */
export function snapshotOptions(
  { snapshots = {} }: Pick<Config, 'snapshots'>,
  { execution, io }: { readonly execution: ExecutionContext; readonly io: Pick<Io, 'home'> },
): SnapshotOptions | undefined {
  const { enabled = true, exclude, maxFileSize, maxFiles, maxSnapshots, maxSize } = snapshots
  if (!enabled) return undefined
  return {
    ...(execution.type === 'process' && { store: snapshotsPath(io.home) }),
    ...(exclude && { exclude }),
    ...(maxFileSize !== undefined && { maxFileBytes: readSize(maxFileSize, 'the setting snapshots.maxFileSize') }),
    ...(maxFiles !== undefined && { maxFiles }),
    ...(maxSnapshots !== undefined && { keep: maxSnapshots }),
    ...(maxSize !== undefined && { maxBytes: readSize(maxSize, 'the setting snapshots.maxSize') }),
  }
}

/** Where the command line keeps snapshots of files. */
export const snapshotsPath = (home: string): string => join(home, 'snapshots')
