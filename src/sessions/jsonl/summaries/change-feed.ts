import * as fs from 'node:fs'
import { withReadErrors } from '../file-errors.ts'
import { openForReading, readBytes } from '../files.ts'
import { changeFilesIn } from './change-file.ts'

interface ReadFile {
  readonly ino: bigint
  readonly size: bigint
  /** The names since the last empty line: these sessions are being changed. */
  readonly unsaved: ReadonlySet<string>
}

/** Follows the change files of other store objects. */
export class ChangeFeed {
  readonly #dir: string
  readonly #storeInstanceId: string
  #files = new Map<string, ReadFile>()

  constructor(dir: string, storeInstanceId: string) {
    this.#dir = dir
    this.#storeInstanceId = storeInstanceId
  }

  /**
   * The names of the folders that may have been changed since the last call. A session is named before it is changed, so
   * those that were named last time are among them.
   */
  next(): Set<string> {
    const names = new Set([...this.#files.values()].flatMap(({ unsaved }) => [...unsaved]))
    const files = new Map<string, ReadFile>()
    for (const path of changeFilesIn(this.#dir, this.#storeInstanceId)) {
      const file = readFollowing(path, this.#files.get(path), names)
      if (file) files.set(path, file)
    }
    this.#files = files
    return names
  }
}

function readFollowing(path: string, before: ReadFile | undefined, names: Set<string>): ReadFile | undefined {
  const info = withReadErrors(path, () => fs.statSync(path, { bigint: true, throwIfNoEntry: false }))
  if (!info) return undefined
  const { ino, size } = info
  if (before?.ino === ino && before.size === size) return before
  const known = before?.ino === ino && before.size < size ? before : undefined
  const unsaved = new Set(known?.unsaved)
  for (const name of linesOf(path, Number(known?.size ?? 0), Number(size))) {
    if (name === '') unsaved.clear()
    else {
      unsaved.add(name)
      names.add(name)
    }
  }
  return { ino, size, unsaved }
}

function linesOf(path: string, start: number, end: number): string[] {
  const fd = openForReading(path)
  if (fd === undefined) return []
  try {
    return withReadErrors(path, () => readBytes(fd, start, end))
      .toString()
      .split('\n')
      .slice(0, -1)
  } finally {
    fs.closeSync(fd)
  }
}
