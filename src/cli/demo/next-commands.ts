import type { Io } from '../io.ts'
import { programName } from '../program-name.ts'

/** What to try next, in the way this very program was started. */
export function nextCommands(io: Pick<Io, 'env'>): { line: string; says: string }[] {
  const libero = programName(io)
  return [
    { line: `${libero} login`, says: 'a real model: your key, or a login' },
    { line: `${libero} "list the files here"`, says: 'a task of your own, in this folder' },
    { line: `${libero} sessions`, says: 'what was done, and how to go on with it' },
    { line: `${libero} doctor`, says: 'what works on this machine' },
  ]
}
