import { randomUUID } from 'node:crypto'
import { link, lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { AgentError, codeOf, messageOf } from '../../../core/errors.ts'
import { withLock } from '../../../platform/lock.ts'
import { stampOf } from './folder-reader.ts'
import type { ChangePlan, FileWrite } from './plan-change.ts'

/** A file has changed since the change was planned, and was not overwritten: plan again. */
export class FileChanged extends Error {}

/**
 * Applies a plan to the files of a wiki: each file in one step, not through links, and not if it has changed. Between the
 * check of a path and the step another process may still create a link: this protects against the content of a wiki, not
 * against a hostile program.
 */
export async function changeFiles(folder: string, { writes, removals }: ChangePlan): Promise<void> {
  const tiddlers = join(folder, 'tiddlers')
  // Checked before the first step, so that a change is made completely or not at all, if possible.
  for (const { path, stamp } of [...writes, ...removals]) {
    await checkFolders(folder, tiddlers, path)
    if (stampOf(path) !== stamp) await changed(path)
  }
  try {
    for (const write of writes) await writeFile(write)
    for (const { path, stamp } of removals) {
      if (stampOf(path) !== stamp) await changed(path)
      await rm(path)
    }
  } catch (cause) {
    if (cause instanceof FileChanged || cause instanceof AgentError) throw cause
    throw new AgentError(`The wiki in ${folder} cannot be changed: ${messageOf(cause)}; check that it is writable`, {
      cause,
    })
  }
}

async function checkFolders(folder: string, tiddlers: string, path: string): Promise<void> {
  const inside = relative(tiddlers, path)
  if (inside === '' || inside.split(sep).includes('..'))
    throw new AgentError(`${path} is not in ${tiddlers}; nothing was written`)
  const parts = relative(folder, dirname(path)).split(sep)
  for (let count = 0; count <= parts.length; count++)
    await checkFolder(join(folder, ...parts.slice(0, count)), count > 0)
}

async function checkFolder(path: string, mayBeMade: boolean): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isDirectory()) return
  if (found)
    throw new AgentError(`${path} is a link or a file, where a folder of the wiki should be; nothing was written`)
  if (!mayBeMade) throw new AgentError(`The folder ${path} is gone; put it back`)
  await mkdir(path).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error
  })
}

async function changed(path: string): Promise<never> {
  const found = await lstat(path).catch(() => undefined)
  if (found && !found.isFile())
    throw new AgentError(`${path} is a link or a folder, where a file should be; nothing was written`)
  throw new FileChanged(path)
}

async function writeFile({ path, text, encoding, stamp }: FileWrite): Promise<void> {
  // TiddlyWiki ignores files with such names.
  const temporary = join(dirname(path), `._${randomUUID()}`)
  try {
    const mode = stamp === undefined ? 0o666 : (await lstat(path)).mode & 0o777
    const file = await open(temporary, 'wx', mode)
    try {
      await file.writeFile(Buffer.from(text, encoding))
      await file.sync()
    } finally {
      await file.close()
    }
    if (stampOf(path) !== stamp) await changed(path)
    if (stamp === undefined) await putNew(temporary, path)
    else await rename(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Unlike renaming, linking does not replace a file that was created meanwhile. */
async function putNew(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') await changed(path)
    // For file systems without links.
    await rename(temporary, path)
  }
}

/**
 * Runs work on the files of a wiki while no other store does, in any process. TiddlyWiki itself does not use this lock;
 * changes that it saves meanwhile are detected.
 */
export async function withWikiLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  // The lock must not create a folder again that was removed.
  if (!(await kindOf(folder))?.isDirectory()) return work()
  const own = join(folder, '.libero')
  const lock = join(own, 'wiki.lock')
  const [ownKind, lockKind] = [await kindOf(own), await kindOf(lock)]
  // A foreign wiki may have a link here that leads out of it, or a pipe that would block.
  const odd = (ownKind && !ownKind.isDirectory() && own) || (lockKind && !lockKind.isFile() && lock)
  if (odd) throw new AgentError(`${odd} is no plain folder or file; nothing was written, take it away`)
  return withLock(lock, work, { waitMs: 10_000 })
}

const kindOf = (path: string) => lstat(path).catch(() => undefined)
