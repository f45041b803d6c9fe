import { messageOf } from '../../core/errors.ts'
import type { Explaining } from '../explain-failure.ts'
import { networkProblem } from './network-problem.ts'

/** What the operating system refused, with the file it is about. */
export function explainSystem(error: unknown, by: Explaining): string | undefined {
  const found = withCode(error)
  if (!found) return networkProblem(error, 'the service', by)
  const { code, path } = found
  const which = typeof path === 'string' && path !== '' ? by.foreign(path) : by.foreign(messageOf(error))
  return systemFailures[code]!(which)
}

const systemFailures: Readonly<Record<string, (which: string) => string>> = {
  EACCES: (which) => `no permission for ${which}: check who owns it and what its rights are (ls -l)`,
  EPERM: (which) => `the system does not permit that for ${which}: check who owns it and what its rights are`,
  ENOSPC: (which) => `the disk is full, ${which} could not be written: free some space, then try again`,
  EDQUOT: (which) => `your quota is used up, ${which} could not be written: free some space, then try again`,
  EROFS: (which) => `${which} is on a disk that cannot be written: choose another folder (LIBERO_HOME, --cwd)`,
  ENOENT: (which) => `there is no ${which}: check the path`,
  ENOTDIR: (which) => `${which} is no folder: check the path`,
  EISDIR: (which) => `${which} is a folder, a file is needed: check the path`,
  EMFILE: () => 'this user has too many files open: close programs, or raise the limit (ulimit -n)',
  ENFILE: () => 'this machine has too many files open: close programs, then try again',
  ENOMEM: () => 'there is not enough memory: close programs, then try again',
}

function withCode(error: unknown): { readonly code: string; readonly path?: unknown } | undefined {
  let at = error as { code?: unknown; path?: unknown; cause?: unknown } | null | undefined
  for (let depth = 0; at && depth < 6; depth++, at = at.cause as typeof at)
    if (typeof at.code === 'string' && Object.hasOwn(systemFailures, at.code)) return { code: at.code, path: at.path }
  return undefined
}
