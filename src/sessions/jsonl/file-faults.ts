import { AgentError, codeOf, messageOf, StoreError, type StoreErrorCode } from '../../core/errors.ts'

/** Does something that changes the store; a failure gets its name, and says about which file it is. */
export function changing<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw faultOf(cause, path, 'write')
  }
}

/** The same for what only looks. */
export function looking<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw faultOf(cause, path, 'read')
  }
}

/** What a failed file operation means for whoever keeps sessions there. Errors that have a name already keep it. */
export function faultOf(cause: unknown, path: string, what: 'read' | 'write'): Error {
  if (cause instanceof AgentError) return cause
  const code = codeOf(cause) ?? ''
  const [name, advice] = (what === 'write' && writeFaults[code]) || commonFaults[code] || unknownFault
  return new StoreError(name, `Cannot ${what} ${path}: ${messageOf(cause)}; ${advice}`, { cause })
}

type Fault = readonly [StoreErrorCode, string]

const full: Fault = ['full', 'make room on the disk and try again; what was written before is safe']
const readOnly: Fault = ['read_only', 'make the folder writable for this user, or use another one']
const link: Fault = ['unavailable', 'symbolic links are not followed here; put the real file or folder in its place']
const unreadable: Fault = ['unavailable', 'let this user read the folder']
const tooMany: Fault = [
  'unavailable',
  'this process holds too many files open: end runs or close stores, or raise the limit (ulimit -n), then try again',
]
const unknownFault: Fault = ['unavailable', 'check the disk and try again']

const writeFaults: Readonly<Record<string, Fault>> = {
  ENOSPC: full,
  EDQUOT: full,
  EFBIG: full,
  EROFS: readOnly,
  EACCES: readOnly,
  EPERM: readOnly,
}

const commonFaults: Readonly<Record<string, Fault>> = {
  ELOOP: link,
  EACCES: unreadable,
  EPERM: unreadable,
  EMFILE: tooMany,
  ENFILE: tooMany,
}
