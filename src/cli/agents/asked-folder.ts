import { realpathSync } from 'node:fs'
import { isRecord } from '../../core/is-record.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Waiting } from '../../workflow/index.ts'
import { CliError } from '../cli-error.ts'

/** The folder that a call was shown to run in; `undefined` for a question, and where the folder is not told. */
export function askedFolder({ request, callId }: Pick<Waiting, 'request' | 'callId'>): string | undefined {
  const payload = isRecord(request) && isRecord(request.payload) ? request.payload : {}
  const calls = Array.isArray(payload.calls) ? payload.calls.filter(isRecord) : []
  const own = calls.find(({ call }) => isRecord(call) && call.callId === callId) ?? payload
  const lines = isRecord(own.consent) && Array.isArray(own.consent.lines) ? own.consent.lines : []
  const line = lines.find((one): one is string => typeof one === 'string' && one.startsWith(runsIn))
  return line?.includes('[REDACTED:') ? undefined : line?.slice(runsIn.length)
}

const runsIn = 'runs in: '

/** A permission is one for a folder: given in another one it would not count, and the call be asked about again for that one. */
export function requireAskedFolder(call: Waiting, cwd: string): void {
  const folder = askedFolder(call)
  if (folder === undefined || isSameFolder(folder, cwd)) return
  const [where, here] = [fullyVisible(folder), fullyVisible(cwd)]
  throw new CliError(
    `${fullyVisible(call.name)} is to run in ${where}, and this is ${here}; allow it there (cd ${where}), or deny it with --deny. Nothing was done`,
  )
}

function isSameFolder(folder: string, cwd: string): boolean {
  return (
    folder === fullyVisible(cwd) || folder === fullyVisible(realPathOf(cwd)) || realPathOf(folder) === realPathOf(cwd)
  )
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
