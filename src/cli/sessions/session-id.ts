import { randomInt } from 'node:crypto'
import type { SessionSummary } from '../../core/store.ts'

const consonants = 'bdfghjklmnprstvz'
const vowels = 'aeiou'

/** An id that is easy to read aloud and to type, such as `bafitu-kemola`; one of 2.6 × 10¹¹. */
export function newSessionId(): string {
  return `${syllable()}${syllable()}${syllable()}-${syllable()}${syllable()}${syllable()}`
}

const syllable = (): string => oneOf(consonants) + oneOf(vowels)
const oneOf = (letters: string): string => letters[randomInt(letters.length)]!

/** Whether a session belongs to an agent, which `libero agents` manages. */
export const isAgentId = (id: string): boolean => id.startsWith('agent-')

/** Whether `libero sessions` shows a session: not those of agents, schedules and webhooks. Old logs of schedules have no kind. */
export const isOwnSession = ({ id, kind }: Pick<SessionSummary, 'id' | 'kind'>): boolean =>
  !isAgentId(id) && kind !== 'schedules' && kind !== 'webhook' && id !== 'libero.schedules'
