import { randomInt } from 'node:crypto'

const consonants = 'bdfghjklmnprstvz'
const vowels = 'aeiou'

/** An id that can be read aloud and typed, such as `bafitu-kemola`: one of 260 thousand million. */
export function newSessionId(): string {
  return `${syllable()}${syllable()}${syllable()}-${syllable()}${syllable()}${syllable()}`
}

const syllable = (): string => oneOf(consonants) + oneOf(vowels)
const oneOf = (letters: string): string => letters[randomInt(letters.length)]!

/** Whether a session is the conversation of an agent: `libero agents` looks after those. */
export const isAgentId = (id: string): boolean => id.startsWith('agent-')
