import type { Agent } from '../../core/agent.ts'
import { isRecord } from '../../core/is-record.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Seat } from './seat.ts'

/** What a suspended run waits for, in words for whoever called. */
export function missingPermission(seat: Seat, stopReason: string): string {
  if (stopReason !== 'permission-required')
    return `It stopped and waits: ${fullyVisible(stopReason)}. Nothing can be answered over MCP; call again with another task.`
  const { why, orElse } = reasonOf(seat)
  return [
    `Not run: it needs a permission that nobody gave, because ${why}.`,
    ...askedAbout(seat.agent),
    `To have it run, allow it by a rule of this server${orElse}.`,
  ].join('\n\n')
}

/** The client that is there now may be another one than the agent was made for. */
function reasonOf({ canAsk, ask }: Seat): { why: string; orElse: string } {
  if (ask && canAsk) return { why: 'your user could not be asked', orElse: '' }
  if (ask)
    return {
      why: 'this conversation was begun by a client that cannot ask its user',
      orElse: ', or leave out session to begin another one',
    }
  return {
    why: 'this client cannot ask its user (it has no elicitation)',
    orElse: ', or connect with a client that supports elicitation',
  }
}

function askedAbout({ log: { transcript } }: Agent): string[] {
  return transcript.openCalls.flatMap(({ id, name }) => {
    const asked = transcript.approvals.get(id)
    if (asked?.type !== 'approval_requested') return []
    const request = isRecord(asked.request) ? asked.request : {}
    const { description } = isRecord(request.payload) ? request.payload : request
    const said = typeof description === 'string' ? description : `${name}: ${asked.reason ?? 'it has to be approved'}`
    const isLong = said.length > longest
    return [fullyVisible(isLong ? `${said.slice(0, longest)}…` : said, { lines: 'kept' })]
  })
}

const longest = 4000
