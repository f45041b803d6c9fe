import { failpoint } from '../core/log.ts'
import { commitScript, inputOf, lockScript, namesToUpdate, refOf, treeScript, updateScript } from './commit-files.ts'
import { type GitRunner, GitTimeoutError, hexNames, SnapshotsUnavailableError, shownName } from './git-runner.ts'
import { metaOf, readScan, scanScript } from './scan-files.ts'
import { nothingElse, type Snapshot, type SnapshotMeta, type TakeOptions } from './snapshot.ts'

/** Takes a snapshot. Rejects with `SnapshotsUnavailableError` if that is impossible. */
export async function takeSnapshot(git: GitRunner, options: TakeOptions): Promise<Snapshot> {
  // Files may change while git reads them; after the second failure the index may be damaged.
  for (const index of ['kept', 'kept', 'new'] as const)
    try {
      return await attempt(git, options, index)
    } catch (error) {
      const isLast = index === 'new' || error instanceof GitTimeoutError || error instanceof TooManyFilesError
      if (isLast || !(error instanceof SnapshotsUnavailableError)) throw error
    }
  throw new Error('unreachable')
}

async function attempt(git: GitRunner, options: TakeOptions, index: 'kept' | 'new'): Promise<Snapshot> {
  const { signal, maxFiles } = options
  const scan = readScan(await git.run(scanScript(options, index), { signal }))
  if (scan.committed) {
    failpoint('snapshot.committed')
    return snapshotOf(scan.committed, nothingElse, { ...options, folder: scan.folder })
  }
  failpoint('snapshot.scanned')
  if (scan.update.length > maxFiles)
    throw new TooManyFilesError(
      `the folder has ${scan.update.length} files that are not ignored, more than maxFiles (${maxFiles}); ignore some, or raise it`,
    )
  let { meta } = scan
  const isUpdated = scan.update.length + scan.remove.length > 0
  if (!isUpdated && scan.last?.meta === JSON.stringify(meta)) {
    // It belongs to this session too.
    const ref = refOf(options.owner, scan.last.id)
    if (!scan.isOwn) await git.run(`ours update-ref '${ref}' ${scan.last.id}\n`, { signal })
    return snapshotOf(scan.last, meta, { ...options, folder: scan.folder })
  }
  const names = namesToUpdate(scan)
  let update = isUpdated ? updateScript(scan) : ''
  if (isUpdated && scan.hasNewFolders) {
    // Folders without files show only once the files beside them are in the index.
    const others = await git.run(`${lockScript(options)}${update}others -z | withoutPlaceholders | hex\n`, {
      input: inputOf(meta, names),
      signal,
    })
    failpoint('snapshot.updated')
    const folders = hexNames(others).filter((name) => name.endsWith('/'))
    meta = metaOf(meta.leftOut, folders)
    update = ''
  }
  const input = inputOf(meta, update === '' ? [] : names)
  const written = await git.run(
    `${lockScript(options)}${update}${treeScript}writeTree
${commitScript(options)}`,
    { input, signal },
  )
  failpoint('snapshot.committed')
  const [id = '', tree = ''] = written.trim().split(' ')
  return snapshotOf({ id, tree }, meta, { ...options, folder: scan.folder })
}

class TooManyFilesError extends SnapshotsUnavailableError {}

function snapshotOf(
  { id, tree }: Pick<Snapshot, 'id' | 'tree'>,
  { leftOut }: SnapshotMeta,
  { now, folder }: { readonly now: number; readonly folder: string },
): Snapshot {
  const first = leftOut.slice(0, 20).map(([name, why]) => ({ path: shownName(name), why }))
  return { id, tree, takenAt: now, folder, leftOut: first, leftOutCount: leftOut.length }
}
