import { AgentError, codeOf, messageOf, StoreError, type StoreErrorCode } from '../../core/errors.ts'

/** Runs work that changes the store, at once or later; a failure becomes a StoreError that names the file. */
export function withWriteErrors<T>(path: string, work: () => T): T {
  return withErrors(path, 'write', work)
}

/** The same for work that only reads. */
export function withReadErrors<T>(path: string, work: () => T): T {
  return withErrors(path, 'read', work)
}

function withErrors<T>(path: string, what: 'read' | 'write', work: () => T): T {
  const fail = (cause: unknown): never => {
    throw storeErrorOf(cause, path, what)
  }
  try {
    const result = work()
    return result instanceof Promise ? (result.catch(fail) as T) : result
  } catch (cause) {
    return fail(cause)
  }
}

/** The StoreError for a failed file operation. An AgentError is returned as it is. */
export function storeErrorOf(cause: unknown, path: string, what: 'read' | 'write'): Error {
  if (cause instanceof AgentError) return cause
  const code = codeOf(cause) ?? ''
  const [name, advice] = (what === 'write' && writeProblems[code]) || commonProblems[code] || unknownProblem
  return new StoreError(name, `Cannot ${what} ${path}: ${messageOf(cause)}; ${advice}`, { cause })
}

type Problem = readonly [StoreErrorCode, string]

const full: Problem = ['full', 'make room on the disk and try again; what was written before is safe']
const readOnly: Problem = ['read_only', 'make the folder writable for this user, or use another one']
const link: Problem = ['unavailable', 'symbolic links are not followed here; put the real file or folder in its place']
const unreadable: Problem = ['unavailable', 'let this user read the folder']
const tooMany: Problem = [
  'unavailable',
  'this process holds too many files open: end runs or close stores, or raise the limit (ulimit -n), then try again',
]
const unknownProblem: Problem = ['unavailable', 'check the disk and try again']

const writeProblems: Readonly<Record<string, Problem>> = {
  ENOSPC: full,
  EDQUOT: full,
  EFBIG: full,
  EROFS: readOnly,
  EACCES: readOnly,
  EPERM: readOnly,
}

const commonProblems: Readonly<Record<string, Problem>> = {
  ELOOP: link,
  EACCES: unreadable,
  EPERM: unreadable,
  EMFILE: tooMany,
  ENFILE: tooMany,
}
