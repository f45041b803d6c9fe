import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { AgentError, codeOf, messageOf, StoreError, type StoreErrorCode } from '../../core/errors.ts'
import { resourceShortage } from '../../platform/files.ts'

/** The StoreError for a failure of the database at `path`. An AgentError is returned as it is. */
export function problemOf(error: unknown, path: string): Error {
  if (error instanceof AgentError) return error
  const shortage = shortageAt(error, path)
  if (shortage) return new StoreError('unavailable', `${path} cannot be opened: ${shortage}`, { cause: error })
  const code = storeCodeOf(error, path)
  return new StoreError(code, `${whatHappened[code](path)} (${messageOf(error)})`, { cause: error })
}

/** The error that the stored data is damaged. */
export function corruptError(path: string, detail: string): StoreError {
  return new StoreError('corrupt', `${whatHappened.corrupt(path)} (${detail})`)
}

/** Whether another process holds the lock: nothing was written, and a retry may help. */
export function isBusy(error: unknown): boolean {
  const code = resultCodeOf(error)
  return code !== undefined && [resultCode.busy, resultCode.locked].includes(code & 0xff)
}

/** Result codes of SQLite: the primary code is in the lowest byte, details are above it. */
const resultCode = {
  error: 1,
  permission: 3,
  busy: 5,
  locked: 6,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  mismatch: 20,
  range: 25,
  notADatabase: 26,
  databaseMoved: 8 | (4 << 8),
  shortRead: 10 | (2 << 8),
  sharedMemorySize: 10 | (19 << 8),
  corruptFileSystem: 10 | (33 << 8),
}

const codes: Readonly<Record<number, StoreErrorCode>> = {
  // The statements are fixed, so an error in a statement means that the tables are damaged.
  [resultCode.error]: 'corrupt',
  [resultCode.permission]: 'read_only',
  [resultCode.busy]: 'busy',
  [resultCode.locked]: 'busy',
  [resultCode.readOnly]: 'read_only',
  [resultCode.corrupt]: 'corrupt',
  [resultCode.full]: 'full',
  [resultCode.constraint]: 'corrupt',
  [resultCode.mismatch]: 'corrupt',
  [resultCode.range]: 'corrupt',
  [resultCode.notADatabase]: 'corrupt',
  [resultCode.databaseMoved]: 'unavailable',
  [resultCode.shortRead]: 'corrupt',
  [resultCode.sharedMemorySize]: 'full',
  [resultCode.corruptFileSystem]: 'corrupt',
}

const systemCodes: Readonly<Record<string, StoreErrorCode>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EACCES: 'read_only',
  EPERM: 'read_only',
  EROFS: 'read_only',
  ERR_OUT_OF_RANGE: 'corrupt', // a number that was never written
}

function storeCodeOf(error: unknown, path: string): StoreErrorCode {
  const result = resultCodeOf(error)
  if (result === undefined) return systemCodes[codeOf(error) ?? ''] ?? 'unavailable'
  if ((result & 0xff) === resultCode.cannotOpen) return isWritable(path) ? 'unavailable' : 'read_only'
  return codes[result] ?? codes[result & 0xff] ?? 'unavailable'
}

/** SQLite does not say why it could not open a file. Opening other files shows whether too many are open. */
function shortageAt(error: unknown, path: string): string | undefined {
  const result = resultCodeOf(error)
  if (result === undefined) return resourceShortage(codeOf(error) ?? '')
  if ((result & 0xff) !== resultCode.cannotOpen) return undefined
  const opened: number[] = []
  try {
    while (opened.length < maxOpened) opened.push(openSync(dirname(path), 'r'))
    return undefined
  } catch (reason) {
    return resourceShortage(codeOf(reason) ?? '')
  } finally {
    for (const fd of opened) closeSync(fd)
  }
}

/** SQLite opens the database, its WAL, the index of the WAL and a folder; if twice as many can be opened, there is no shortage. */
const maxOpened = 8

function resultCodeOf(error: unknown): number | undefined {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined
  return typeof code === 'number' ? code : undefined
}

function isWritable(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK)
    accessSync(path, constants.W_OK)
    return true
  } catch (error) {
    return codeOf(error) === 'ENOENT'
  }
}

const whatHappened: Readonly<Record<StoreErrorCode, (path: string) => string>> = {
  full: (path) => `No room to write to ${path}: nothing was written; free some space, then go on`,
  read_only: (path) =>
    `${path} cannot be written: nothing was written; check the rights of the file and its folder, and that the disk is not read-only`,
  busy: (path) => `Another process keeps ${path} locked: nothing was written; try again, or end that process`,
  corrupt: (path) =>
    `${path} is damaged, or is not a session store; it was left as it is. Copy what is readable into a new one: rescueSqlite({ from: ${JSON.stringify(path)}, to: 'rescued.db' }) from libero/session/sqlite`,
  newer: (path) =>
    `${path} was written by a newer version of Libero: it can be read, but not written; update Libero to go on`,
  network_fs: (path) =>
    `${path} lies on a network file system, where SQLite cannot keep writers apart; use a local path or the remote store, or pass allowNetworkFileSystem: true if only one machine uses it`,
  unavailable: (path) => `${path} cannot be used; check the path and the disk`,
  denied: (path) => `${path} cannot be used; check its rights`,
}

/** A failure without another error as its cause. */
export const storeError = (code: StoreErrorCode, path: string, detail?: string): StoreError =>
  new StoreError(code, whatHappened[code](path) + (detail === undefined ? '' : ` (${detail})`))
