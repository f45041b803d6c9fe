import { fullyVisible } from '../../platform/visible-text.ts'
import type { AgentInstanceMessage } from '../../plugins/message.ts'
import { CliError } from '../cli-error.ts'

/** A message of a person or a schedule to an agent, to which one can go back. */
export const isUserMessage = ({ role, hidden }: Pick<AgentInstanceMessage, 'role' | 'hidden'>): boolean =>
  role === 'user' && !hidden

/** Ids of one process differ only in the number at the end. */
const madeHere = /^([0-9a-f]{6})[0-9a-f]{14}(-\d+)$/

/** The short form of an id, to type: `3f2a1b-7` for `3f2a1b…-7`. */
export const messageName = (id: string): string => {
  const [, begin = id, end = ''] = madeHere.exec(id) ?? []
  return fullyVisible(begin + end)
}

/** Finds a message by its id, its short form, or a unique beginning of the id; by default the last one. */
export function findMessage(
  messages: readonly AgentInstanceMessage[],
  asked: string | undefined,
  agentId: string,
): AgentInstanceMessage {
  const candidates = messages.filter(isUserMessage)
  const last = candidates.at(-1)
  const agent = fullyVisible(agentId)
  if (!last) throw new CliError(`Agent ${agent} has no messages yet; there is nothing to go back to`)
  if (asked === undefined) return last
  const exact = candidates.filter(({ id }) => id === asked || messageName(id) === asked)
  const matches = exact.length > 0 || asked === '' ? exact : candidates.filter(({ id }) => id.startsWith(asked))
  const [first, ...more] = matches
  const shown = fullyVisible(asked.slice(0, 100))
  if (more.length > 0) {
    const names = matches.slice(0, 5).map(({ id }) => (exact.length > 0 ? fullyVisible(id) : messageName(id)))
    throw new CliError(`"${shown}" may be ${names.join(', ')}; type more of it`)
  }
  if (first) return first
  const isOther = messages.some(({ id }) => id === asked)
  const why = isOther ? `"${shown}" is not a message to agent ${agent}` : `Agent ${agent} has no message "${shown}"`
  throw new CliError(`${why}; libero agents show ${agent} prints the names after the dates`)
}
