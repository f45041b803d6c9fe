import * as fs from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../../core/errors.ts'
import { type ProcessIdentity, thisProcess } from '../../../platform/process-identity.ts'
import { storeErrorOf } from '../file-errors.ts'
import { fileIdentityAt, makeFolder, namesIn, parseObject, readText, replaceFileUnsynced } from '../files.ts'

/** The folder of the index and of the files that say what the index does not have yet. It may be deleted at any time. */
export const indexFolder = (dir: string): string => join(dir, '.index')

const suffix = '.changes'

/**
 * `.index/<store object>.changes`: which sessions a store object changes, before it changes them. Its first line is the
 * process. Then each line is the name of the folder of a session; an empty line says that the index has all changes before
 * it. So after a crash the sessions after the last empty line are looked at again, and watchers in other processes learn of
 * changes without looking at every session.
 */
export class ChangeFile {
  readonly #path: string
  #fd: number | undefined
  #size = 0
  /** The names since the last empty line. */
  #names = new Set<string>()

  constructor(dir: string, storeInstanceId: string) {
    this.#path = join(indexFolder(dir), `${storeInstanceId}${suffix}`)
  }

  /** Names a session that is about to be changed. */
  add(name: string): void {
    if (this.#names.has(name)) return
    try {
      if (this.#names.size === 0) this.#ensureOpen()
      this.#write(`${name}\n`)
      this.#names.add(name)
    } catch (cause) {
      // A process without write permission here does not contribute to the index. Other processes detect its changes from the
      // session files themselves.
      if (!withoutRights.has(codeOf(cause) ?? '')) throw storeErrorOf(cause, this.#path, 'write')
    }
  }

  /** The index has everything, except the changes of these sessions. */
  save(unsaved: ReadonlySet<string>): void {
    if (this.#fd === undefined) return
    const lines = ['', ...unsaved].map((name) => `${name}\n`).join('')
    if (this.#size > maxSize) this.#replace(lines)
    else this.#write(lines)
    this.#names = new Set(unsaved)
  }

  /** Removes the file if the index has everything. */
  close(): void {
    if (this.#fd === undefined) return
    fs.closeSync(this.#fd)
    this.#fd = undefined
    if (this.#names.size === 0) fs.rmSync(this.#path, { force: true })
  }

  /** The folder may have been deleted. */
  #ensureOpen(): void {
    if (this.#fd !== undefined && fileIdentityAt(this.#path)?.ino === fs.fstatSync(this.#fd, { bigint: true }).ino)
      return
    makeFolder(join(this.#path, '..'))
    this.#replace('')
  }

  #replace(lines: string): void {
    const text = `${JSON.stringify(thisProcess())}\n${lines}`
    replaceFileUnsynced(this.#path, text, () => {})
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
    this.#fd = fs.openSync(this.#path, 'a')
    this.#size = text.length
  }

  #write(lines: string): void {
    const bytes = Buffer.from(lines)
    for (let done = 0; done < bytes.length; ) done += fs.writeSync(this.#fd!, bytes, done)
    this.#size += bytes.length
  }
}

/** A larger file begins again. */
const maxSize = 64 * 1024
const withoutRights = new Set(['EACCES', 'EPERM', 'EROFS'])

/** What a store object of another process, or another one of this process, wrote. */
export interface OtherChanges {
  readonly path: string
  readonly process: ProcessIdentity | undefined
  /** The names of sessions whose last changes may be missing in the index. */
  readonly unsaved: readonly string[]
}

/** The files of all other store objects. */
export function otherChanges(dir: string, storeInstanceId: string): OtherChanges[] {
  return changeFilesIn(dir, storeInstanceId).flatMap((path) => {
    const text = readText(path)
    if (text === undefined) return []
    const [first = '', ...names] = text.split('\n').slice(0, -1)
    const unsaved = names.slice(names.lastIndexOf('') + 1)
    return [{ path, process: parseObject<ProcessIdentity>(first), unsaved }]
  })
}

/** Their paths. */
export function changeFilesIn(dir: string, exceptOf: string): string[] {
  const folder = indexFolder(dir)
  return namesIn(folder)
    .filter((name) => name.endsWith(suffix) && name !== `${exceptOf}${suffix}`)
    .map((name) => join(folder, name))
}
