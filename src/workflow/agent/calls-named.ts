import type { Waiting } from './waiting-calls.ts'

/** The calls that a name may mean: the one that has it as `approvalId`, or else all that have it as `callId`. */
export function callsNamed<Call extends Pick<Waiting, 'approvalId' | 'callId'>>(
  name: string,
  waiting: readonly Call[],
): readonly Call[] {
  const exact = waiting.filter(({ approvalId }) => approvalId === name)
  return exact.length > 0 ? exact : waiting.filter(({ callId }) => callId === name)
}
